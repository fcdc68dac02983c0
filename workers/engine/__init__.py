"""The loop: wake, claim, run, report."""
