"""What people did in Slack, handled from rows."""
