"""What is known before a sentence is read: its bare words, the vocabulary, and names of the inventory."""
