"""What the workspace remembers."""
