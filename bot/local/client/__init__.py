"""For scripts and tests: act as a person in the workspace, or look at it. Speaks HTTP only."""
