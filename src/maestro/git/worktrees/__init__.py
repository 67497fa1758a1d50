"""Create, prepare, inspect, merge and remove worktrees, with git alone: no store, no tasks, no sessions.

Every git command runs through `maestro.git.git_program`. Uncommitted or unmerged work is never deleted. A checkout of
the person changes only when a merge moves the branch that is checked out in it.
"""

from maestro.git.worktrees.branches import ensure_branch, tip
from maestro.git.worktrees.conflicts import FileConflict
from maestro.git.worktrees.copies import Skipped
from maestro.git.worktrees.creation import Created, create
from maestro.git.worktrees.diffs import DiffStat, FileStat, diff, diff_stat
from maestro.git.worktrees.handing_in import loose_ends
from maestro.git.worktrees.identities import Author, identity
from maestro.git.worktrees.listing import Worktree, list_all
from maestro.git.worktrees.merges import Conflicted, Merged, Merges, merge
from maestro.git.worktrees.preparation import Prepared, prepare
from maestro.git.worktrees.readiness import ready
from maestro.git.worktrees.removal import Removed, remove
from maestro.git.worktrees.settings import Settings, read_settings, setup_in
from maestro.git.worktrees.setup_command import SetupRun
from maestro.git.worktrees.states import Operation, State, state
from maestro.git.worktrees.temporary import checkout, sweep

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
