"""The git program, git's facts about a checkout, the sandbox of gates, and the worktrees in which agents work."""
