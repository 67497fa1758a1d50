"""How a worktree stands: what is not committed, how far it went from its base, what is going on in it."""

from __future__ import annotations

import asyncio
from enum import StrEnum
from pathlib import Path

import msgspec

from maestro.git.worktrees import branches, changes, commands, repositories, sizes


class Operation(StrEnum):
    """What git is in the middle of."""

    NONE = ""
    MERGE = "merge"
    REBASE = "rebase"
    CHERRY_PICK = "cherry-pick"
    REVERT = "revert"
    BISECT = "bisect"


_SIGNS = {
    "rebase-merge": Operation.REBASE,  # first: a rebase also leaves the heads below
    "rebase-apply": Operation.REBASE,
    "MERGE_HEAD": Operation.MERGE,
    "CHERRY_PICK_HEAD": Operation.CHERRY_PICK,
    "REVERT_HEAD": Operation.REVERT,
    "BISECT_LOG": Operation.BISECT,
}


class State(msgspec.Struct, frozen=True, kw_only=True):
    """A worktree at one moment. Files that git ignores, and those copied in, count for nothing but the size."""

    is_clean: bool
    changed: int
    untracked: int
    ahead: int  # commits since the base that are not where they are to go
    is_elsewhere: bool  # it has commits that are not on its branch
    head: str  # empty before a first commit
    branch: str  # empty when a commit is checked out without one
    operation: Operation
    size_bytes: int
    is_size_whole: bool


async def state(
    path: str, *, base_commit: str, branch: str = "", within: str | None = None, repository: str | None = None
) -> State:
    """How the worktree at `path` stands to the commit it was made from, and to where its work is to go.

    `branch`: the one it was made with, if that is not the one it is on. `within`: the branch for its work; if there
    is none (any more), the commit that `repository` has checked out.
    """
    git_dir = await repositories.git_dir(path)
    found = await changes.look(path)
    tips = await branches.tips(path, *filter(None, (branch, within)))
    own = tips.get(branch, found.head)
    known = [await branches.known_commit(path, base_commit)]
    if within in tips:
        known.append(tips[within])
    elif repository is not None:
        known.append(await branches.known_commit(repository, None))
    beyond = await _count(path, [found.head, own], known)
    size, is_whole = await asyncio.to_thread(sizes.on_disk, path)
    return State(
        is_clean=found.is_clean,
        changed=len(found.changed),
        untracked=len(found.untracked) + len(found.altered),
        ahead=beyond,
        is_elsewhere=bool(beyond and found.head != own and await _count(path, [found.head], [*known, own])),
        head=found.head,
        branch=found.branch,
        operation=operation_in(git_dir),
        size_bytes=size,
        is_size_whole=is_whole,
    )


def operation_in(git_dir: str) -> Operation:
    """What git is in the middle of, by the files it keeps for it."""
    return next((meaning for sign, meaning in _SIGNS.items() if Path(git_dir, sign).exists()), Operation.NONE)


async def _count(path: str, commits: list[str], known: list[str]) -> int:
    """How many commits lead to these and not to those."""
    wanted = sorted(set(filter(None, commits)))
    if not wanted:
        return 0
    return int(await commands.run("rev-list", "--count", *wanted, "--not", *known, cwd=path))
