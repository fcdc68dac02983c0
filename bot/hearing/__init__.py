"""Several deliveries at once, in any number of bots: each once, each line in its order."""
