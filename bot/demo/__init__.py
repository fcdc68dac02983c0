"""The demo: everything on one machine, with a Slack workspace on localhost."""
