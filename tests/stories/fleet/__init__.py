"""The fleet as people live it, in Chromium."""
