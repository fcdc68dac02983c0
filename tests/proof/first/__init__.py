"""The README, followed literally and timed."""
