"""The folder of a worktree, on the git side: registered at a commit or branch, filled, and taken away again.

Whoever calls this owns the folder: it is new, and nobody else can have changed anything in it.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil

from maestro.core import limits
from maestro.core.errors import MaestroError
from maestro.git.worktrees import commands


async def add(repository: str, *words: str) -> None:
    """`git worktree add`, without filling it."""
    await commands.worktree("add", "--no-checkout", *words, cwd=repository)


async def fill(path: str, *, config: tuple[str, ...] = ()) -> None:
    """Check the files out. Apart from adding, so that what takes long leaves git's own lists alone."""
    seconds = limits.worktree_checkout_seconds_max
    await commands.run("reset", "--hard", "--quiet", cwd=path, seconds=seconds, config=config)


async def take_away(repository: str, path: str) -> None:
    """Undo `add` and `fill`, as far as they got."""
    with contextlib.suppress(MaestroError):
        # Twice: git locks a worktree while it adds it, and may have been ended there.
        seconds = limits.worktree_checkout_seconds_max
        await commands.worktree("remove", "--force", "--force", path, cwd=repository, seconds=seconds)
    await asyncio.to_thread(shutil.rmtree, path, ignore_errors=True)
