"""Temporary worktrees for a merge or a gate, inside the repository's git directory, where no agent works.

A temporary worktree is removed after its use. A file lock, which the system releases when the process ends, tells a
worktree in use from the leftover of a killed server.
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
# Settings for every command in a worktree for a merge. Files of git-lfs stay pointers: a merge needs no contents.
MERGE_SETTINGS = ("filter.lfs.clean=", "filter.lfs.smudge=", "filter.lfs.process=", "filter.lfs.required=false")


@contextlib.asynccontextmanager
async def temporary_worktree(
    repository: str, *, at: str, config: tuple[str, ...] = MERGE_SETTINGS
) -> AsyncIterator[str]:
    """Make a temporary worktree with a commit checked out, without a branch, and yield its path."""
    home = await repositories.common_dir(repository)
    await remove_leftovers(repository)
    try:
        folder = tempfile.mkdtemp(prefix=_PREFIX, dir=home)
    except OSError as error:
        raise errors.storage_fault(error, f"A worktree for the merge cannot be made in {home}") from error
    lock = _lock_folder(folder)
    tree = str(Path(folder, _TREE))
    try:
        await folders.register_worktree(repository, "--detach", tree, at)
        await folders.check_out_files(tree, config=config)
        yield tree
    finally:
        await _remove_worktree(repository, folder)
        if lock is not None:
            os.close(lock)


@contextlib.asynccontextmanager
async def temporary_checkout(repository: str, *, at: str) -> AsyncIterator[str]:
    """Make a temporary worktree with all files of a commit, git-lfs files included, to run a command in it."""
    async with temporary_worktree(repository, at=at, config=()) as tree:
        yield tree


async def remove_leftovers(repository: str) -> int:
    """Remove the temporary worktrees of killed servers; return the number of removed worktrees."""
    home = Path(await repositories.common_dir(repository))
    count = 0
    for folder in home.glob(f"{_PREFIX}*"):
        lock = _lock_folder(str(folder))
        if lock is not None:
            await _remove_worktree(repository, str(folder))
            os.close(lock)
            count += 1
    return count


async def _remove_worktree(repository: str, folder: str) -> None:
    await folders.remove_worktree_folder(repository, str(Path(folder, _TREE)))
    await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


def _lock_folder(folder: str) -> int | None:
    """Lock a folder and return a descriptor that holds the lock; None if another process holds the lock."""
    try:
        # No link: a link with the name could lead to a folder of the person, and the folder would be deleted.
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor
