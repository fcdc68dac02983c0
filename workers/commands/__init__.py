"""Running a command in bounds."""
