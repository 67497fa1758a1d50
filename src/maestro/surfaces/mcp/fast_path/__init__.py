"""Answers to plain MCP requests without the SDK."""
