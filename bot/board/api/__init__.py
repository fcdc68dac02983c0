"""The same views as JSON: models of its own, their documents, and the description of both."""
