"""What there is to work on: clusters, databases, tests; for `signoff init`. Changes nothing."""
