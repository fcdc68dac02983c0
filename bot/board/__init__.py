"""Signoff in the browser, as a process of its own: it looks, and everything that acts is a link to Slack."""
