"""Opens files that others put where we look: never through a link, and never waiting for a pipe."""

from __future__ import annotations

import os
import stat
from io import BufferedReader


def open_plain(path: str, *, folder: int | None = None) -> BufferedReader | None:
    """A plain file, to be read; None for anything else. Raises OSError when it cannot be opened.

    `folder`: a descriptor of the folder that `path` starts from.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    return None
