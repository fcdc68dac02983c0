"""Machines ask at real doors: pipelines, agents, hooks, servers of tools."""
