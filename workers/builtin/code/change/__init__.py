"""code-agent: one subtask, drafted by a model and judged by code."""
