"""The model: what it is told, and what it may answer. What is done with an answer is decided elsewhere."""
