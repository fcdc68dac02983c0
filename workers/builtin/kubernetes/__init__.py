"""k8s-deployer."""
