"""http-check, notify and wait: one request at a time to what the operator named."""
