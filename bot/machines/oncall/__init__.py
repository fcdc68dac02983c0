"""Schedules elsewhere as groups here, a file for each provider. What cannot be asked gives nobody a right."""
