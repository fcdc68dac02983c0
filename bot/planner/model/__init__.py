"""The model: what it is told, and what it may answer."""
