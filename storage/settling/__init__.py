"""What follows from the steps as they are. Below the verbs of plans and of steps, for both."""
