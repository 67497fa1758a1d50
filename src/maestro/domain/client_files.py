"""Which files a session's own command may open: free inside the session's checkout, the person's leave elsewhere."""

from __future__ import annotations

import enum
import posixpath
from pathlib import PurePosixPath

# Git, agent programs and Maestro read settings there and run commands that those settings name.
_SETTINGS_FOLDERS = frozenset({".git", ".claude", ".codex", ".gemini", ".maestro"})


class Access(enum.StrEnum):
    """What the command does with the file."""

    READ = "read"
    WRITE = "write"


def is_in_checkout(path: str, directory: str, access: Access) -> bool:
    """Return whether a path, links resolved, lies in a checkout; a folder of settings in it is not for writing."""
    inside = PurePosixPath(posixpath.normpath(path))
    top = PurePosixPath(posixpath.normpath(directory))
    if not path.startswith("/") or not inside.is_relative_to(top) or inside == top:
        return False
    parts = {part.casefold() for part in inside.relative_to(top).parts}
    return access is Access.READ or _SETTINGS_FOLDERS.isdisjoint(parts)
