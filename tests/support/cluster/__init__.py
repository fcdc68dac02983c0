"""A cluster to deploy to: a real Kubernetes API server, a node that is not; several workers processes."""
