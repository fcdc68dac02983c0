"""The verbs of intention: what people, policy and the planner do to a plan. No worker reaches them."""
