"""Read the author that git is configured with, for merge commits that Maestro makes."""

from __future__ import annotations

import msgspec

from maestro.core.errors import MaestroError
from maestro.git.worktrees import commands


class CommitAuthor(msgspec.Struct, frozen=True):
    """The author of a merge commit."""

    name: str
    email: str


async def configured_author(repository: str) -> CommitAuthor | None:
    """Return the configured author of a repository; None if no author is configured. Git's guesses do not count."""
    pattern = r"^(user|author)\.(name|email)$"
    try:
        printed = await commands.run_git("config", "--null", "--get-regexp", pattern, cwd=repository)
    except MaestroError as error:
        if commands.exit_code(error) == 1:
            return None
        raise
    # Later entries come from files that take precedence. Keys are in lower case.
    settings = dict(entry.split("\n", 1) for entry in printed.split("\0") if "\n" in entry)
    name = settings.get("author.name") or settings.get("user.name") or ""
    email = settings.get("author.email") or settings.get("user.email") or ""
    return CommitAuthor(name, email) if name.strip() and email.strip() else None
