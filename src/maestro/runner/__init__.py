"""The supervisor of one agent: owns its processes and its terminal, and outlives the server.

One detached process per agent. It knows no tool (agents/ does) and imports nothing of the server, for there may be
hundreds of them.
"""
