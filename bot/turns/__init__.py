"""What the bot does by itself, round after round. What people ask for is in inbox."""
