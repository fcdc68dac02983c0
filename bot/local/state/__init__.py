"""What the workspace remembers: messages, views, files, faults. No HTTP."""
