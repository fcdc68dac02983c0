"""What holds whatever comes: any order, any input, any attack, any fault. Full counts: `tests/proof`."""
