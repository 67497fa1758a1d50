"""Read the state of a worktree: uncommitted changes, commits since its base, and an unfinished git operation."""

from __future__ import annotations

import asyncio
from enum import StrEnum
from pathlib import Path

import msgspec

from maestro.git.worktrees import branches, changes, commands, repositories, sizes


class GitOperation(StrEnum):
    """A git operation that is not finished."""

    NONE = ""
    MERGE = "merge"
    REBASE = "rebase"
    CHERRY_PICK = "cherry-pick"
    REVERT = "revert"
    BISECT = "bisect"


_OPERATIONS_BY_FILE = {
    "rebase-merge": GitOperation.REBASE,  # first: a rebase also leaves the head files below
    "rebase-apply": GitOperation.REBASE,
    "MERGE_HEAD": GitOperation.MERGE,
    "CHERRY_PICK_HEAD": GitOperation.CHERRY_PICK,
    "REVERT_HEAD": GitOperation.REVERT,
    "BISECT_LOG": GitOperation.BISECT,
}


class GitWorktreeState(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a worktree at a moment. Ignored and prepared files count only for the size."""

    is_clean: bool
    changed: int
    untracked: int
    ahead: int  # commits since the base that are not in the branch for the work
    is_elsewhere: bool  # the worktree has commits that are not on its branch
    head: str  # empty before the first commit
    branch: str  # empty when a commit is checked out without a branch
    operation: GitOperation
    size_bytes: int
    is_size_whole: bool


async def read_state(
    path: str, *, base_commit: str, branch: str = "", within: str | None = None, repository: str | None = None
) -> GitWorktreeState:
    """Return the state of the worktree at `path`, compared with its base commit and with the branch for its work.

    `branch`: the branch that the worktree was made with, if it is not the current one. `within`: the branch for its
    work; if the branch does not exist, the commit that `repository` has checked out takes its place.
    """
    git_dir = await repositories.git_dir(path)
    present = await changes.read_changes(path)
    tips = await branches.branch_tips(path, *filter(None, (branch, within)))
    branch_commit = tips.get(branch, present.head)
    known = [await branches.require_commit(path, base_commit)]
    if within in tips:
        known.append(tips[within])
    elif repository is not None:
        known.append(await branches.require_commit(repository, None))
    ahead = await _count_commits(path, [present.head, branch_commit], known)
    has_other_head = bool(ahead and present.head != branch_commit)
    is_elsewhere = has_other_head and await _count_commits(path, [present.head], [*known, branch_commit]) > 0
    size, is_whole = await asyncio.to_thread(sizes.measure_folder, path)
    return GitWorktreeState(
        is_clean=present.is_clean,
        changed=len(present.changed),
        untracked=len(present.untracked) + len(present.altered),
        ahead=ahead,
        is_elsewhere=is_elsewhere,
        head=present.head,
        branch=present.branch,
        operation=unfinished_operation(git_dir),
        size_bytes=size,
        is_size_whole=is_whole,
    )


def unfinished_operation(git_dir: str) -> GitOperation:
    """Return the unfinished git operation of a worktree, recognised by the files that git keeps for the operation."""
    operations = _OPERATIONS_BY_FILE.items()
    return next((operation for file, operation in operations if Path(git_dir, file).exists()), GitOperation.NONE)


async def _count_commits(path: str, commits: list[str], known: list[str]) -> int:
    """Return the number of commits that `commits` contain and `known` do not."""
    named = sorted(set(filter(None, commits)))
    if not named:
        return 0
    return int(await commands.run_git("rev-list", "--count", *named, "--not", *known, cwd=path))
