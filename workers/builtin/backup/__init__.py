"""db-backup: copies of PostgreSQL and SQLite, read back, kept, pruned and restored."""
