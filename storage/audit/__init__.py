"""The journal for auditors: export, verify, prune."""
