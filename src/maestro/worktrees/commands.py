"""How git is run for worktrees: alone, in silence, the same on every machine. Below it is only `maestro.git`."""

from __future__ import annotations

import asyncio
import os

from maestro import git, limits
from maestro.errors import MaestroError

# What a person may have configured for their own hands, and what would surprise here. Given before each command,
# where it counts more than any file.
_SETTINGS = (
    "core.hooksPath=/dev/null",  # a hook belongs to a person's own commits and checkouts
    "core.fsmonitor=false",  # it may be a program, or leave one running
    "core.editor=true",
    "core.askPass=true",
    "core.quotePath=false",
    f"core.filesRefLockTimeout={limits.git_lock_milliseconds}",
    f"core.packedRefsTimeout={limits.git_lock_milliseconds}",
    "gc.auto=0",  # it would go on in the background
    "maintenance.auto=false",
    "commit.gpgSign=false",
    "merge.verifySignatures=false",
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
    options = [word for setting in (*_SETTINGS, *config) for word in ("-c", setting)]
    try:
        return await git.run(*options, *args, cwd=cwd, timeout_seconds=seconds)
    except MaestroError as error:
        # The wrapper names a command by its first word, and here that is an option.
        message = error.message.replace("git -c", f"git {args[0]}", 1)
        raise type(error)(message, hint=error.hint, data=error.data) from None


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
