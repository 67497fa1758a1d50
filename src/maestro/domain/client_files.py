"""Decide which files a session's own command may open. Outside the session's checkout the person must allow it."""

from __future__ import annotations

import enum
import posixpath
from pathlib import PurePosixPath

# Git and Maestro read settings in these folders and run the commands that the settings name.
_SETTINGS_FOLDERS = frozenset({".git", ".maestro"})


class FileAccess(enum.StrEnum):
    """Whether the command reads or writes the file."""

    READ = "read"
    WRITE = "write"


def is_in_checkout(path: str, directory: str, access: FileAccess, *, tool_folders: frozenset[str]) -> bool:
    """Return whether a path lies in a checkout and permits the access. Resolve links first.

    A settings folder inside the checkout permits reading only. `tool_folders` are the settings folders of agent
    programs, which also run commands that the settings name.
    """
    inside = PurePosixPath(posixpath.normpath(path))
    top = PurePosixPath(posixpath.normpath(directory))
    if not path.startswith("/") or not inside.is_relative_to(top) or inside == top:
        return False
    parts = {part.casefold() for part in inside.relative_to(top).parts}
    return access is FileAccess.READ or (_SETTINGS_FOLDERS | tool_folders).isdisjoint(parts)
