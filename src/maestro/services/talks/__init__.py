"""Conversations with running programs over their protocols: events of runners, asks of tools, pushes to programs."""
