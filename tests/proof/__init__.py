"""Full counts behind short tests, each a command, `python -m tests.proof.NAME`; all: `make proof`."""
