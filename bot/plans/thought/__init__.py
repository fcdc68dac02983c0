"""Around a thought: what is known and looked at before it, what it costs, what people see meanwhile."""
