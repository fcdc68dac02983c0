"""Running one command in bounds: its output, its limits, its end. Which command is for workers to say."""
