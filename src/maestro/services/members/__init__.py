"""Members, teams and the operations that the sessions of a member may call."""
