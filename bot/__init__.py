"""Intention: hear, think, ask, show. Speaks to Slack and to the model; runs nothing itself."""
