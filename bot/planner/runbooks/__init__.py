"""Plans with slots: without a model they are the planner."""
