"""The verbs of a step: what workers may do."""
