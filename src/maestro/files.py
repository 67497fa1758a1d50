"""Small files that other people put where we look: read without ever waiting for one."""

from __future__ import annotations

import os
import stat

_BYTES_MAX = 64 * 1024


def read_small(path: str) -> bytes | None:
    """The beginning of a plain file; None for what is not there, cannot be read or is something else (a pipe)."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        return os.read(descriptor, _BYTES_MAX)
    except OSError:
        return None
    finally:
        os.close(descriptor)
