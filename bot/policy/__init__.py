"""Who may, and what a plan needs. Pure."""
