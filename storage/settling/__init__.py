"""What follows from the steps as they are, for the verbs of plans and of steps alike. No verbs here."""
