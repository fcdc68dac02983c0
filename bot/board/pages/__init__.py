"""The pages, each a function from what is known to HTML. Pure: no rows, no Slack, no web server."""
