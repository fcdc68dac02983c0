"""The documents that planning and execution share. Pure: no rows, no I/O."""
