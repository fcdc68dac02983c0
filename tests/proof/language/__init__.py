"""Nothing that people say is lost: words around a request, and words inserted into it."""
