"""mcp-NAME: tools of MCP servers that an operator pinned, each called by a child that lives for one call."""
