"""What a person can do in the workspace, and what the client checks before it asks the app."""
