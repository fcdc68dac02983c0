"""Plans with slots, and how a wish finds one; without a model they are the planner."""
