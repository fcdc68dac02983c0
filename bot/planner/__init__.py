"""From a wish to a plan worth approving. No tools, no credentials; it writes no row."""
