"""`signoff demo`: all processes on one machine, with a Slack workspace on localhost. Never in production."""
