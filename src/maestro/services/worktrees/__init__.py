"""Create, merge and remove the worktrees of sessions, and turn merge conflicts into tasks."""
