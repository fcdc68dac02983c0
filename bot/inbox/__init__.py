"""What people did in Slack, handled from rows: words, clicks, forms. What nobody asked for is in turns."""
