"""http-check, notify, wait."""
