"""Plans, people and contracts as tests need them: made up, and the same for everybody."""
