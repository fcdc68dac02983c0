"""How the app is told."""
