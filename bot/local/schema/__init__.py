"""What Slack accepts, field by field."""
