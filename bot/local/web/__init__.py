"""The web server, its page, and the control API of people, tests and the demo."""
