"""Return the directories of a repository: the common directory, and the git directory of a worktree."""

from __future__ import annotations

import os

from maestro.core.errors import NotFound
from maestro.git import repositories


async def common_dir(repository: str) -> str:
    """Return the git directory that a repository shares with all its worktrees."""
    return repositories.repository_at(repository).common_dir


async def git_dir(worktree: str) -> str:
    """Return the git directory of a worktree. Refuse a folder that is not the top of a worktree.

    Without the check, a folder that lost its `.git` file would lead to the checkout around the folder.
    """
    repository = repositories.repository_at(worktree)
    if repository.top != os.path.realpath(worktree):
        raise NotFound(
            f"{worktree} is not the top of a worktree.", hint="The worktree may have been removed or moved."
        )
    return repository.git_dir
