"""What it costs, each a command, `python -m tests.bench.NAME`; all: `make bench`."""
