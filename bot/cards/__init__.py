"""Pure: view → blocks. Nothing here speaks to Slack."""
