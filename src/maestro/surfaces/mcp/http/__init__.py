"""MCP over HTTP, at /mcp: endpoint, requests, sessions."""
