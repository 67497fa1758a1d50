"""Where a repository keeps its things, by its files: its shared directory, and a worktree's own."""

from __future__ import annotations

import os

from maestro.core.errors import NotFound
from maestro.git import repositories


async def common_dir(repository: str) -> str:
    """The directory that a repository shares with all its worktrees."""
    return repositories.repository_at(repository).common_dir


async def git_dir(worktree: str) -> str:
    """A worktree's own directory inside the repository; `worktree` must be its top.

    Without that check a folder that lost its `.git` would lead to the checkout around it.
    """
    found = repositories.repository_at(worktree)
    if found.top != os.path.realpath(worktree):
        raise NotFound(f"{worktree} is not the top of a worktree.", hint="It may have been removed, or moved.")
    return found.git_dir
