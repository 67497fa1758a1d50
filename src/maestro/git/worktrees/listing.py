"""List the worktrees of a repository as git knows them."""

from __future__ import annotations

import os

import msgspec

from maestro.core.errors import MaestroError
from maestro.git.worktrees import commands


class ListedWorktree(msgspec.Struct, frozen=True, kw_only=True):
    """A worktree in git's list."""

    path: str
    head: str = ""  # empty in a bare repository
    branch: str = ""  # empty when a commit is checked out without a branch
    is_main: bool = False
    is_bare: bool = False
    is_locked: bool = False
    lock_reason: str = ""
    is_prunable: bool = False  # the folder is gone
    prunable_reason: str = ""


async def list_worktrees(repository: str) -> tuple[ListedWorktree, ...]:
    """Return all worktrees that git knows, the main checkout first."""
    blocks = [block for block in (await _run_list(repository)).split("\0\0") if block]
    return tuple(_parse_worktree(block.split("\0"), is_main=number == 0) for number, block in enumerate(blocks))


async def find_worktree(repository: str, path: str) -> ListedWorktree | None:
    """Return the worktree that git knows at a path."""
    real_path = os.path.realpath(path)
    listed = await list_worktrees(repository)
    return next((worktree for worktree in listed if os.path.realpath(worktree.path) == real_path), None)


async def _run_list(repository: str) -> str:
    try:
        return await commands.run_git_worktree("list", "--porcelain", "-z", cwd=repository)
    except MaestroError as error:
        if commands.exit_code(error) != 129:
            raise
    # git before 2.36 does not know -z, and cannot list a path with a line break correctly.
    return (await commands.run_git_worktree("list", "--porcelain", cwd=repository)).replace("\n", "\0")


def _parse_worktree(lines: list[str], *, is_main: bool) -> ListedWorktree:
    facts = {name: value for name, _, value in (line.partition(" ") for line in lines)}
    head = facts.get("HEAD", "")
    return ListedWorktree(
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
