"""What people do in Slack, each as one verb of the store."""
