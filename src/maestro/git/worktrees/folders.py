"""Register, fill and remove the folder of a worktree.

The caller owns the folder: the folder is new, and no other process has changed files in it.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil

from maestro.core import limits
from maestro.core.errors import MaestroError
from maestro.git.worktrees import commands


async def register_worktree(repository: str, *arguments: str) -> None:
    """Run `git worktree add` without checking out files."""
    await commands.run_git_worktree("add", "--no-checkout", *arguments, cwd=repository)


async def check_out_files(path: str, *, config: tuple[str, ...] = ()) -> None:
    """Check out the files. A step of its own, so that a long checkout does not lock git's list of worktrees."""
    seconds = limits.worktree_checkout_seconds_max
    await commands.run_git("reset", "--hard", "--quiet", cwd=path, seconds=seconds, config=config)


async def remove_worktree_folder(repository: str, path: str) -> None:
    """Remove a worktree and its folder, also a worktree that is only partly registered or filled."""
    with contextlib.suppress(MaestroError):
        # --force twice: git locks a worktree while adding it, and an interrupted git leaves the lock.
        seconds = limits.worktree_checkout_seconds_max
        await commands.run_git_worktree("remove", "--force", "--force", path, cwd=repository, seconds=seconds)
    await asyncio.to_thread(shutil.rmtree, path, ignore_errors=True)
