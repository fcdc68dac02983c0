"""What happens to a plan, whichever way it was asked for: each module one act, from rows to rows."""
