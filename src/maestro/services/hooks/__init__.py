"""Handle agents' hook events: update status and turns, show mail, hold tool calls that need permission."""
