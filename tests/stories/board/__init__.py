"""The board as people live it, in Chromium."""
