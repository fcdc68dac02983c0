"""What a move leaves behind, linked by hashes."""
