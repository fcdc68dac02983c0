"""How many there are, and what each weighs: python -m tests.bench.weight.NAME."""
