"""db-backup."""
