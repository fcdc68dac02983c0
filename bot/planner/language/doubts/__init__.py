"""What is left over: doubts that are asked about, comments that are shown, and what is refused."""
