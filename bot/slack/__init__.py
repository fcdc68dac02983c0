"""The edge: the only rooms that speak to Slack."""
