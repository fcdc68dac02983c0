"""What the pages are made of: states, rows, lanes, rails, the frame around them. Pure."""
