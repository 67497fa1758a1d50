"""MCP over the pipe of `maestro mcp`."""
