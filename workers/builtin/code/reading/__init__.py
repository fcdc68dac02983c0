"""code: looks at a repository, cuts a goal into subtasks, and integrates what was drafted."""
