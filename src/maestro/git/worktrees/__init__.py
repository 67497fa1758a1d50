"""Create, prepare, inspect, merge and remove worktrees, with git alone: no store, no tasks, no sessions.

Every git command runs through `maestro.git.git_program`. Uncommitted or unmerged work is never deleted. A checkout of
the person changes only when a merge moves the branch that is checked out in it.
"""

from maestro.git.worktrees.branches import branch_tip, ensure_branch
from maestro.git.worktrees.conflicts import FileConflict
from maestro.git.worktrees.copies import SkippedFile
from maestro.git.worktrees.creation import CreatedWorktree, create_worktree
from maestro.git.worktrees.diffs import DiffStat, FileStat, read_diff, read_diff_stat
from maestro.git.worktrees.handing_in import find_unmerged_work
from maestro.git.worktrees.identities import CommitAuthor, configured_author
from maestro.git.worktrees.listing import ListedWorktree, list_worktrees
from maestro.git.worktrees.merges import MergeConflict, Merged, MergeLocks, merge_branch
from maestro.git.worktrees.preparation import PreparedWorktree, prepare_worktree
from maestro.git.worktrees.readiness import require_ready
from maestro.git.worktrees.removal import RemovedWorktree, remove_worktree
from maestro.git.worktrees.settings import WorktreeSettings, parse_setup, read_settings
from maestro.git.worktrees.setup_command import SetupRun
from maestro.git.worktrees.states import GitOperation, GitWorktreeState, read_state
from maestro.git.worktrees.temporary import remove_leftovers, temporary_checkout

__all__ = [
    "CommitAuthor",
    "CreatedWorktree",
    "DiffStat",
    "FileConflict",
    "FileStat",
    "GitOperation",
    "GitWorktreeState",
    "ListedWorktree",
    "MergeConflict",
    "MergeLocks",
    "Merged",
    "PreparedWorktree",
    "RemovedWorktree",
    "SetupRun",
    "SkippedFile",
    "WorktreeSettings",
    "branch_tip",
    "configured_author",
    "create_worktree",
    "ensure_branch",
    "find_unmerged_work",
    "list_worktrees",
    "merge_branch",
    "parse_setup",
    "prepare_worktree",
    "read_diff",
    "read_diff_stat",
    "read_settings",
    "read_state",
    "remove_leftovers",
    "remove_worktree",
    "require_ready",
    "temporary_checkout",
]
