"""Where the programs' sockets are put: an address of one is short, and data directories may be deep."""

from __future__ import annotations

import tempfile
from pathlib import Path

_ADDRESS_BYTES_MAX = 100


def short(path: Path, session_id: str) -> Path:
    """That path if it fits, else one in a folder of the session's own in the system's place for passing things. Its
    runner takes it away at its end."""
    if len(str(path).encode()) <= _ADDRESS_BYTES_MAX:
        return path
    folder = Path(tempfile.gettempdir()) / f"maestro-{session_id[-12:]}"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder / path.name
