"""The MCP surface: few tools, short schemas, by role; over HTTP and over `maestro mcp`."""
