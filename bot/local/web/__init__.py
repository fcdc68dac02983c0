"""Its web server and page."""
