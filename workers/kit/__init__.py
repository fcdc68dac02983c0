"""`signoff worker check`: holds anybody's worker against the contract. Runs no action."""
