"""What is handed to a planner besides the request: what is known, said and looked at, as data. Pure."""
