"""The fleet: agents draft changes in boxes, a queue integrates them, one worker publishes."""
