"""Doors for machines: they ask and look at their own. Nothing here approves, edits, answers or overrides."""
