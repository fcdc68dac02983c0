"""Changes of a plan, as documents: by words, by form, and around a failed step. Pure."""
