"""gitops-deployer: a version in a git repository, pushed, and waited for in the cluster."""
