"""Run git for worktrees: with the same settings on every machine, and only with recorded programs."""

from __future__ import annotations

import asyncio
import os

from maestro.core import limits
from maestro.core.errors import MaestroError
from maestro.git import git_program, repositories

# These settings override the person's, which are meant for work by hand and would change git's output or results.
_SETTINGS = (
    "core.quotePath=false",
    f"core.filesRefLockTimeout={limits.git_lock_milliseconds}",
    f"core.packedRefsTimeout={limits.git_lock_milliseconds}",
    "merge.conflictStyle=diff3",  # the resolver of a conflict needs the common version too
    "rerere.enabled=false",
    "submodule.recurse=false",
    "i18n.commitEncoding=UTF-8",
    "i18n.logOutputEncoding=UTF-8",
    "color.ui=false",
    "diff.noprefix=false",
    "diff.mnemonicPrefix=false",
    "diff.relative=false",
)
_FATAL_CODE = 128


async def run_git(
    *args: str, cwd: str, seconds: float = limits.worktree_git_seconds_max, config: tuple[str, ...] = ()
) -> str:
    """Run git and return its output. `config`: settings for this command, as `name=value`."""
    repository = repositories.repository_at(cwd)
    settings = (*_SETTINGS, *config, *repositories.neutral_settings(repository))
    return await git_program.run_git(
        *args, cwd=cwd, timeout_seconds=seconds, repository=repository, settings=settings
    )


async def run_git_worktree(*args: str, cwd: str, seconds: float = limits.worktree_git_seconds_max) -> str:
    """Run `git worktree`, with retries: git fails when another process adds or removes a worktree meanwhile."""
    for attempt in range(1, limits.worktree_attempts_max):
        try:
            return await run_git("worktree", *args, cwd=cwd, seconds=seconds)
        except MaestroError as error:
            if exit_code(error) != _FATAL_CODE:
                raise
        await asyncio.sleep(attempt * limits.worktree_retry_milliseconds / 1000)
    return await run_git("worktree", *args, cwd=cwd, seconds=seconds)


async def run_predicate(*args: str, cwd: str) -> bool:
    """Run a git command that answers with its exit status. Return True for 0, False for 1."""
    try:
        await run_git(*args, cwd=cwd)
    except MaestroError as error:
        if exit_code(error) == 1:
            return False
        raise
    return True


async def read_line(*args: str, cwd: str) -> str | None:
    """Run git and return the line that git prints; None if git ends with 1, which means: not found."""
    try:
        return (await run_git(*args, cwd=cwd)).removesuffix("\n")
    except MaestroError as error:
        if exit_code(error) == 1:
            return None
        raise


def exit_code(error: MaestroError) -> int | None:
    """Return the exit status of git from an error; None if git did not run to its end."""
    code = error.data.get("exit_code")
    return code if isinstance(code, int) else None


def printable_name(name: str) -> str:
    """Return the name of a file as valid text. Bytes that are no UTF-8 are escaped."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")
