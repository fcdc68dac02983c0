"""Stories of the planner: what it looks at, remembers and asks for, over the whole product."""
