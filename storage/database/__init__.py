"""Rows: the engine, the tables, how a statement is sent, how a commit is told. No verbs."""
