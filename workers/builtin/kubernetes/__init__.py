"""k8s-deployer: services on a cluster, and the client of the practice cluster."""
