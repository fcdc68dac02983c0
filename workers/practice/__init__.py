"""A practice cluster: the deployer works on it unchanged, and nothing real is deployed."""
