"""approval-gate and command: what asks people, and what runs an operator's own commands."""
