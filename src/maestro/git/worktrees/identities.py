"""Whose name stands on commits that are made for somebody: what their git is configured with."""

from __future__ import annotations

import msgspec

from maestro.core.errors import MaestroError
from maestro.git.worktrees import commands


class Author(msgspec.Struct, frozen=True):
    """Who a merge commit is by."""

    name: str
    email: str


async def identity(repository: str) -> Author | None:
    """The author that git would use here; None if that is not configured. What git would make up does not count."""
    wanted = r"^(user|author)\.(name|email)$"
    try:
        printed = await commands.run("config", "--null", "--get-regexp", wanted, cwd=repository)
    except MaestroError as error:
        if commands.exit_code(error) == 1:
            return None
        raise
    # Later files come later, and count more; the key is in lower case.
    found = dict(entry.split("\n", 1) for entry in printed.split("\0") if "\n" in entry)
    name = found.get("author.name") or found.get("user.name") or ""
    email = found.get("author.email") or found.get("user.email") or ""
    return Author(name, email) if name.strip() and email.strip() else None
