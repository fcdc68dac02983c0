"""How good a model is at all that it is asked for: sampled, counted and compared. No row is written."""
