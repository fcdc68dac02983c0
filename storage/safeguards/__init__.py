"""What holds a plan back: the kill switch, second factors, budgets. Policy itself is in the bot."""
