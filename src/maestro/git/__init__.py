"""The git program, the facts about a checkout that git knows, and the worktrees in which agents work."""
