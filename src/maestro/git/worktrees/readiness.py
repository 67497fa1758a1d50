"""Check whether worktrees can be made from a checkout, before a session or a run that needs them is accepted."""

from __future__ import annotations

import asyncio
from pathlib import Path

from maestro.core.errors import Conflict, NotFound
from maestro.git.worktrees import branches, repositories
from maestro.git.worktrees.settings import WorktreeSettings, read_settings


async def require_ready(checkout: str) -> WorktreeSettings:
    """Return the worktree settings of a checkout. Refuse a checkout from which no worktree can be made."""
    if not Path(checkout).is_dir():
        raise NotFound(
            f"The folder {checkout} no longer exists, so no worktree can be made from it.",
            hint="If the folder was moved: run `maestro init` in the new folder.",
        )
    try:
        await repositories.common_dir(checkout)
    except NotFound:
        raise Conflict(
            f"{checkout} is not in a git repository, so no worktree can be made from it.",
            hint="Create a repository (git init, git add -A, git commit -m first), or leave --worktree out.",
        ) from None
    await branches.require_commit(checkout, None)
    return await asyncio.to_thread(read_settings, checkout)
