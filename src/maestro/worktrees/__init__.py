"""Worktrees, on the git side alone: made, prepared, looked at, merged and removed. No store, no tasks, no sessions.

Everything stands on `maestro.git`. Uncommitted or unmerged work is never deleted, and nobody's checkout is touched.
"""

from maestro.worktrees.branches import ensure_branch, tip
from maestro.worktrees.conflicts import FileConflict
from maestro.worktrees.copies import Skipped
from maestro.worktrees.creation import Created, create
from maestro.worktrees.diffs import DiffStat, FileStat, diff, diff_stat
from maestro.worktrees.handing_in import loose_ends
from maestro.worktrees.identities import Author, identity
from maestro.worktrees.listing import Worktree, list_all
from maestro.worktrees.merges import Conflicted, Merged, Merges, merge
from maestro.worktrees.preparation import Prepared, prepare
from maestro.worktrees.readiness import ready
from maestro.worktrees.removal import Removed, remove
from maestro.worktrees.settings import Settings, read_settings, setup_in
from maestro.worktrees.setup_command import SetupRun
from maestro.worktrees.states import Operation, State, state
from maestro.worktrees.temporary import checkout, sweep

__all__ = [
    "Author",
    "Conflicted",
    "Created",
    "DiffStat",
    "FileConflict",
    "FileStat",
    "Merged",
    "Merges",
    "Operation",
    "Prepared",
    "Removed",
    "Settings",
    "SetupRun",
    "Skipped",
    "State",
    "Worktree",
    "checkout",
    "create",
    "diff",
    "diff_stat",
    "ensure_branch",
    "identity",
    "list_all",
    "loose_ends",
    "merge",
    "prepare",
    "read_settings",
    "ready",
    "remove",
    "setup_in",
    "state",
    "sweep",
    "tip",
]
