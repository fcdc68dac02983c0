"""The verbs of execution: what workers do to steps. Nothing here asks for, approves or permits."""
