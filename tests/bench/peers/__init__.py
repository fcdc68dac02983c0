"""Signoff and its peers turn about in one run, each in processes of its own: `make bench-peers`."""
