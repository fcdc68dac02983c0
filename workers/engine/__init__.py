"""The loop: wake, claim, run, report. Knows actions by their contract only, and no worker by name."""
