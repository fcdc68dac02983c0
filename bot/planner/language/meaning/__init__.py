"""What a clause means: its intent, its facts, whether it asks, and what it takes over from its neighbours."""
