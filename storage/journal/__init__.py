"""What a move leaves behind, linked by hashes. Reading it for auditors is in audit."""
