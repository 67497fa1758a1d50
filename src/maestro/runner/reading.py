"""Read the output of a program without blocking the runner."""

from __future__ import annotations

import os

READ_BYTES_MAX = 1 << 16  # in one read


def read_available(descriptor: int) -> bytes | None:
    """Return the available bytes; empty at the end, None if no bytes are available yet."""
    try:
        return os.read(descriptor, READ_BYTES_MAX)
    except BlockingIOError:
        return None
    except OSError:  # a terminal without processes reports EIO
        return b""
