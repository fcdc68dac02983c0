"""MCP tools at full size: a huge answer, and a server of somebody else's."""
