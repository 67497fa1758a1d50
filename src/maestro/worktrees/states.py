"""How a worktree stands: what is not committed, how far it went from its base, what is going on in it."""

from __future__ import annotations

import asyncio
from enum import StrEnum
from pathlib import Path

import msgspec

from maestro.worktrees import branches, changes, commands, repositories, sizes


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
    ahead: int  # commits since the base
    head: str  # empty before a first commit
    branch: str  # empty when a commit is checked out without one
    operation: Operation
    size_bytes: int
    is_size_whole: bool


async def state(path: str, *, base_commit: str) -> State:
    """How the worktree at `path` stands to the commit it was made from."""
    git_dir = await repositories.git_dir(path)
    base = await branches.known_commit(path, base_commit)
    found = await changes.look(path)
    head = await commands.line("rev-parse", "--verify", "--quiet", "HEAD^{commit}", cwd=path) or ""
    size, is_whole = await asyncio.to_thread(sizes.on_disk, path)
    return State(
        is_clean=found.is_clean,
        changed=len(found.changed),
        untracked=len(found.untracked) + len(found.altered),
        ahead=await _count(path, f"{base}..{head}") if head else 0,
        head=head,
        branch=(await commands.line("symbolic-ref", "--quiet", "HEAD", cwd=path) or "").removeprefix("refs/heads/"),
        operation=operation_in(git_dir),
        size_bytes=size,
        is_size_whole=is_whole,
    )


def operation_in(git_dir: str) -> Operation:
    """What git is in the middle of, by the files it keeps for it."""
    return next((meaning for sign, meaning in _SIGNS.items() if Path(git_dir, sign).exists()), Operation.NONE)


async def _count(path: str, commits: str) -> int:
    return int(await commands.run("rev-list", "--count", commits, cwd=path))
