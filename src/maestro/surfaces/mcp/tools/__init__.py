"""The tools and resources of the MCP surface: their list, schemas, calls and notifications. Knows no transport."""
