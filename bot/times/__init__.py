"""Plain-language times, zones, windows, recurrence. Pure."""
