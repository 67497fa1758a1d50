"""Whether a worktree can be made from a checkout at all: asked before anything is promised to anybody."""

from __future__ import annotations

import asyncio
from pathlib import Path

from maestro.core.errors import Conflict, NotFound
from maestro.git.worktrees import branches, repositories
from maestro.git.worktrees.settings import Settings, read_settings


async def ready(checkout: str) -> Settings:
    """What is to be done in worktrees of this checkout; an error that says what to do, if none can be made."""
    if not Path(checkout).is_dir():
        raise NotFound(
            f"There is no folder {checkout} any more, and a worktree is made from it.",
            hint="If it was moved: run `maestro init` where it is now.",
        )
    try:
        await repositories.common_dir(checkout)
    except NotFound:
        raise Conflict(
            f"{checkout} lies in no git repository, and a worktree is made from one.",
            hint="Make one (git init, git add -A, git commit -m first), or leave --worktree out.",
        ) from None
    await branches.known_commit(checkout, None)
    return await asyncio.to_thread(read_settings, checkout)
