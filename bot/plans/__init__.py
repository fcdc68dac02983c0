"""What happens to a plan, whichever way it was asked for."""
