"""The journal for auditors: export, verify, put away, prune. Nothing here writes events of plans."""
