"""A practice cluster as a process of its own: the deployer works on it, and nothing real is deployed."""
