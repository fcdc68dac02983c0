"""code-publish: pushes a branch and opens a pull request; the only one with a credential."""
