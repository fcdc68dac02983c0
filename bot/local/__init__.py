"""A Slack workspace on localhost, for the demo and the end-to-end tests. Knows nothing of Signoff."""
