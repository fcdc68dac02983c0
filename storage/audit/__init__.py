"""The journal for auditors: export, verify, prune. Nothing here writes events of plans."""
