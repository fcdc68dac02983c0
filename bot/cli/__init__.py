"""The subcommands of `signoff`, one module for each or for a few alike. Nothing that Slack can ask for."""
