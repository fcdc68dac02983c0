"""What Slack accepts, field by field, with its limits. Pure."""
