"""What lies between processes and Slack: deliveries, outbox, capabilities. No verb of a plan."""
