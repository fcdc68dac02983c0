"""What must not be seen: known values and patterns, hidden."""
