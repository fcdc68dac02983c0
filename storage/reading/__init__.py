"""Views, history and counts. Nothing moves here."""
