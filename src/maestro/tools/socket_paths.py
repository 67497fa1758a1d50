"""Paths of sockets for agent programs. The address of a socket must be short, but data directories may be deep."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

_ADDRESS_BYTES_MAX = 100
_ALWAYS_SHORT = "/tmp"  # used if `TMPDIR` is deep too; the folder below belongs to the session


def short_socket_path(path: Path, session_id: str) -> Path:
    """Return the path if it is short enough, else a path in a folder of the session below the temporary directory.
    The runner removes the folder when it ends."""
    if _is_short(path):
        return path
    folder_name = f"maestro-{session_id[-12:]}"
    short_path = Path(tempfile.gettempdir()) / folder_name / path.name
    if not _is_short(short_path):
        short_path = Path(_ALWAYS_SHORT) / folder_name / path.name
    short_path.parent.mkdir(mode=0o700, exist_ok=True)
    return short_path


def _is_short(path: Path) -> bool:
    return len(os.fsencode(path)) <= _ADDRESS_BYTES_MAX
