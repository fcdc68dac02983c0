"""What must not be seen: known values and patterns, hidden. Where they are hidden, callers say."""
