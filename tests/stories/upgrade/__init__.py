"""A database that version 0.1.0 left behind, and the story that it was written by."""
