"""Crash points: a process dies before and after every commit and every outside call, and nothing is lost."""
