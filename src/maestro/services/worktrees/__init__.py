"""Worktrees: made, merged, removed, and what becomes of a conflict."""
