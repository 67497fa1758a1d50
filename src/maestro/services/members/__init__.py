"""Members, teams and what their sessions may call."""
