"""A person or a look at the workspace, by a script."""
