"""approval-gate, command."""
