"""Where the programs' sockets are put: an address of one is short, and data directories may be deep."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

_ADDRESS_BYTES_MAX = 100
_ALWAYS_SHORT = "/tmp"  # where `TMPDIR` names a deep place itself; what is made there is the session's own


def short(path: Path, session_id: str) -> Path:
    """That path if it fits, else one in a folder of the session's own in the system's place for passing things. Its
    runner takes it away at its end."""
    if _fits(path):
        return path
    own = f"maestro-{session_id[-12:]}"
    found = Path(tempfile.gettempdir()) / own / path.name
    if not _fits(found):
        found = Path(_ALWAYS_SHORT) / own / path.name
    found.parent.mkdir(mode=0o700, exist_ok=True)
    return found


def _fits(path: Path) -> bool:
    return len(os.fsencode(path)) <= _ADDRESS_BYTES_MAX
