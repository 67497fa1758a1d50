"""Create, prepare, inspect, merge and remove worktrees, with git alone: no store, no tasks, no sessions.

Every git command runs through `maestro.git.git_program`. Uncommitted or unmerged work is never deleted. A checkout of
the person changes only when a merge moves the branch that is checked out in it.
"""

from maestro.git.worktrees.branches import branch_tip, ensure_branch
from maestro.git.worktrees.create import CreatedWorktree, create_worktree, remove_leftovers, temporary_checkout
from maestro.git.worktrees.inspect import (
    GitOperation,
    GitWorktreeState,
    find_unmerged_work,
    read_diff,
    read_state,
)
from maestro.git.worktrees.merge import CommitAuthor, MergeConflict, Merged, MergeLocks, merge_branch
from maestro.git.worktrees.prepare import PreparedWorktree, prepare_worktree
from maestro.git.worktrees.remove import RemovedWorktree, remove_worktree
from maestro.git.worktrees.settings import WorktreeSettings, parse_setup, read_settings, require_ready

__all__ = [
    "CommitAuthor",
    "CreatedWorktree",
    "GitOperation",
    "GitWorktreeState",
    "MergeConflict",
    "MergeLocks",
    "Merged",
    "PreparedWorktree",
    "RemovedWorktree",
    "WorktreeSettings",
    "branch_tip",
    "create_worktree",
    "ensure_branch",
    "find_unmerged_work",
    "merge_branch",
    "parse_setup",
    "prepare_worktree",
    "read_diff",
    "read_settings",
    "read_state",
    "remove_leftovers",
    "remove_worktree",
    "require_ready",
    "temporary_checkout",
]
