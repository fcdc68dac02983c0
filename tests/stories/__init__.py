"""The product as people meet it: whole tasks from wish to outcome, most of them over real processes."""
