"""A worktree for one merge or one look: made inside the repository's own directory, where nobody works.

It is gone afterwards. A lock that the system drops with our process tells one in use from what a killed server left.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

from maestro.core import errors
from maestro.git.worktrees import folders, repositories

_PREFIX = "maestro-merge-"
_TREE = "tree"
# For every command in such a worktree. Large files stay the pointers they are: a merge does not look into them.
CONFIG = ("filter.lfs.clean=", "filter.lfs.smudge=", "filter.lfs.process=", "filter.lfs.required=false")


@contextlib.asynccontextmanager
async def worktree(repository: str, *, at: str, config: tuple[str, ...] = CONFIG) -> AsyncIterator[str]:
    """The path of a worktree with a commit checked out, and no branch."""
    home = await repositories.common_dir(repository)
    await sweep(repository)
    try:
        holder = tempfile.mkdtemp(prefix=_PREFIX, dir=home)
    except OSError as error:
        raise errors.storage_fault(error, f"A worktree for the merge cannot be made in {home}") from error
    lock = _locked(holder)
    tree = str(Path(holder, _TREE))
    try:
        await folders.add(repository, "--detach", tree, at)
        await folders.fill(tree, config=config)
        yield tree
    finally:
        await _dropped(repository, holder)
        if lock is not None:
            os.close(lock)


@contextlib.asynccontextmanager
async def checkout(repository: str, *, at: str) -> AsyncIterator[str]:
    """A commit with the whole of its files, for whoever wants to run something on it."""
    async with worktree(repository, at=at, config=()) as tree:
        yield tree


async def sweep(repository: str) -> int:
    """Take away what killed merges left; how many there were."""
    home = Path(await repositories.common_dir(repository))
    count = 0
    for holder in home.glob(f"{_PREFIX}*"):
        lock = _locked(str(holder))
        if lock is not None:
            await _dropped(repository, str(holder))
            os.close(lock)
            count += 1
    return count


async def _dropped(repository: str, holder: str) -> None:
    await folders.take_away(repository, str(Path(holder, _TREE)))
    await asyncio.to_thread(shutil.rmtree, holder, ignore_errors=True)


def _locked(folder: str) -> int | None:
    """Hold a folder as long as this descriptor is open; None if another does."""
    try:
        # A link of that name could lead to a folder of the person, which would be deleted.
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor
