"""A Slack workspace on localhost: the demo, and the fixture of the end-to-end tests."""
