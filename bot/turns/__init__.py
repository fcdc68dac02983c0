"""What the bot does by itself, turn after turn."""
