"""What lies between the processes and Slack: deliveries, the outbox, capabilities."""
