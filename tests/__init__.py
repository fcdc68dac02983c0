"""Tests mirror the house: those of `a/b/c.py` are `tests/a/b/test_c.py`; other rooms say what they hold."""
