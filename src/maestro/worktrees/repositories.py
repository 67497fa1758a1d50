"""Where a repository keeps its things, asked of git: its shared directory, and a worktree's own."""

from __future__ import annotations

import os
from pathlib import Path

from maestro.errors import MaestroError, NotFound
from maestro.worktrees import commands


async def common_dir(repository: str) -> str:
    """The directory that a repository shares with all its worktrees."""
    known = _from_files(repository)
    if known is not None:
        return known[1]
    printed = await _facts(repository, "--git-common-dir")
    return os.path.realpath(Path(repository, printed))  # relative to where git ran


async def git_dir(worktree: str) -> str:
    """A worktree's own directory inside the repository; `worktree` must be its top.

    Without that check a folder that lost its `.git` would lead to the checkout around it.
    """
    known = _from_files(worktree)
    if known is not None:
        return known[0]
    prefix, _, directory = (await _facts(worktree, "--show-prefix", "--absolute-git-dir")).partition("\n")
    if prefix:
        raise NotFound(f"{worktree} is not the top of a worktree.", hint="It may have been removed, or moved.")
    return directory


def _from_files(top: str) -> tuple[str, str] | None:
    """A checkout's own directory and the shared one, read where git keeps them: a program less to start, many times
    for each task. None where it is not as plain as that, and git is asked."""
    link = Path(top, ".git")
    try:
        if link.is_dir():
            own = shared = os.path.realpath(link)
        else:
            word, _, target = link.read_text("utf-8").removesuffix("\n").partition(" ")
            if word != "gitdir:":
                return None
            own = os.path.realpath(Path(top, target))
            shared = os.path.realpath(Path(own, Path(own, "commondir").read_text("utf-8").removesuffix("\n")))
        is_whole = Path(own, "HEAD").exists() and Path(shared, "objects").is_dir()
    except (OSError, ValueError):
        return None
    return (own, shared) if is_whole else None


async def _facts(directory: str, *wanted: str) -> str:
    try:
        return (await commands.run("rev-parse", *wanted, cwd=directory)).removesuffix("\n")
    except MaestroError as error:
        if commands.exit_code(error) != 128 or type(error) is not MaestroError:
            raise
        raise NotFound(f"{directory} does not lie in a git repository.", hint=error.message) from None
