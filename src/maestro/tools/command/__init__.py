"""The tool `command`: any program as an agent."""
