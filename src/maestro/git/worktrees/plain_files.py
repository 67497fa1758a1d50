"""Open a plain file that an agent may have replaced: follow no link, and never wait for a pipe."""

from __future__ import annotations

import os
import stat
from io import BufferedReader


def open_plain(path: str, *, folder: int | None = None) -> BufferedReader | None:
    """Open a plain file for reading. Return None for other kinds of files; raise OSError if the open fails.

    `folder`: a descriptor of the folder that `path` starts from.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    return None
