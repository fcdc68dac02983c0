"""Views and counts: nothing moves here."""
