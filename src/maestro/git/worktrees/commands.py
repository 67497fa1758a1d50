"""How git is run for worktrees: in silence, the same on every machine, and only with programs that were recorded."""

from __future__ import annotations

import asyncio
import os

from maestro.core import limits
from maestro.core.errors import MaestroError
from maestro.git import git_program, repositories

# What a person may have configured for their own hands, and what would surprise here.
_SETTINGS = (
    "core.quotePath=false",
    f"core.filesRefLockTimeout={limits.git_lock_milliseconds}",
    f"core.packedRefsTimeout={limits.git_lock_milliseconds}",
    "merge.conflictStyle=diff3",  # who mends a conflict wants to see where both came from
    "rerere.enabled=false",
    "submodule.recurse=false",
    "i18n.commitEncoding=UTF-8",
    "i18n.logOutputEncoding=UTF-8",
    "color.ui=false",
    "diff.noprefix=false",
    "diff.mnemonicPrefix=false",
    "diff.relative=false",
)
_FATAL = 128


async def run(
    *args: str, cwd: str, seconds: float = limits.worktree_git_seconds_max, config: tuple[str, ...] = ()
) -> str:
    """What git prints. `config` are settings for this one command, as `name=value`."""
    repository = repositories.repository_at(cwd)
    settings = (*_SETTINGS, *config, *repositories.neutral_settings(repository))
    return await git_program.run(*args, cwd=cwd, timeout_seconds=seconds, repository=repository, settings=settings)


async def worktree(*args: str, cwd: str, seconds: float = limits.worktree_git_seconds_max) -> str:
    """`git worktree`, tried again when it fails: it stumbles over what others add and remove at the same time."""
    for attempt in range(1, limits.worktree_tries_max):
        try:
            return await run("worktree", *args, cwd=cwd, seconds=seconds)
        except MaestroError as error:
            if exit_code(error) != _FATAL:
                raise
        await asyncio.sleep(attempt * limits.worktree_retry_milliseconds / 1000)
    return await run("worktree", *args, cwd=cwd, seconds=seconds)


async def says_yes(*args: str, cwd: str) -> bool:
    """A question that git answers with its exit status: 0 is yes, 1 is no."""
    try:
        await run(*args, cwd=cwd)
    except MaestroError as error:
        if exit_code(error) == 1:
            return False
        raise
    return True


async def line(*args: str, cwd: str) -> str | None:
    """The one line that git prints; None when it ends with 1, its way of saying that there is none."""
    try:
        return (await run(*args, cwd=cwd)).removesuffix("\n")
    except MaestroError as error:
        if exit_code(error) == 1:
            return None
        raise


def exit_code(error: MaestroError) -> int | None:
    """The status git ended with, if it ran to its end."""
    code = error.data.get("exit_code")
    return code if isinstance(code, int) else None


def shown(name: str) -> str:
    """A file's name as text that can be sent anywhere: bytes that are no UTF-8 are spelled out."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")
