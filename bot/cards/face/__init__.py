"""What a card is made of: title, lines, how they stand while it runs and at its end, buttons. Pure."""
