"""How a plan goes on after a step. Pure."""
