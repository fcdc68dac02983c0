"""Pages of docs that are made from the code; each is written anew by `python -m tests.support.pages.NAME`."""
