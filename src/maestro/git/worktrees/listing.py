"""What git itself lists as the worktrees of a repository."""

from __future__ import annotations

import os

import msgspec

from maestro.core.errors import MaestroError
from maestro.git.worktrees import commands


class Worktree(msgspec.Struct, frozen=True, kw_only=True):
    """One line of git's list."""

    path: str
    head: str = ""  # empty in a bare repository
    branch: str = ""  # empty when a commit is checked out without one
    is_main: bool = False
    is_bare: bool = False
    is_locked: bool = False
    lock_reason: str = ""
    is_prunable: bool = False  # its folder is gone
    prunable_reason: str = ""


async def list_all(repository: str) -> tuple[Worktree, ...]:
    """Every worktree that git knows, the main one first."""
    blocks = [block for block in (await _printed(repository)).split("\0\0") if block]
    return tuple(_parsed(block.split("\0"), is_main=number == 0) for number, block in enumerate(blocks))


async def at_path(repository: str, path: str) -> Worktree | None:
    """The worktree that git knows at this path."""
    wanted = os.path.realpath(path)
    return next((one for one in await list_all(repository) if os.path.realpath(one.path) == wanted), None)


async def _printed(repository: str) -> str:
    try:
        return await commands.worktree("list", "--porcelain", "-z", cwd=repository)
    except MaestroError as error:
        if commands.exit_code(error) != 129:
            raise
    # Before git 2.36 there was no -z, and no way to tell a line break in a path.
    return (await commands.worktree("list", "--porcelain", cwd=repository)).replace("\n", "\0")


def _parsed(lines: list[str], *, is_main: bool) -> Worktree:
    facts = {name: value for name, _, value in (line.partition(" ") for line in lines)}
    head = facts.get("HEAD", "")
    return Worktree(
        path=facts["worktree"],
        head=head if head.strip("0") else "",
        branch=facts.get("branch", "").removeprefix("refs/heads/"),
        is_main=is_main,
        is_bare="bare" in facts,
        is_locked="locked" in facts,
        lock_reason=facts.get("locked", ""),
        is_prunable="prunable" in facts,
        prunable_reason=facts.get("prunable", ""),
    )
