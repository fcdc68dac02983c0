"""Changes of a plan, as documents. Pure."""
