"""Times as people say them, zones, windows, recurrence. Pure: the clock is passed in."""
