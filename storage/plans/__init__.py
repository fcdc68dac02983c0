"""The verbs of a plan."""
