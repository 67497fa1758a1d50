"""Small files: read files of other people without waiting for a pipe, and write Maestro's own files."""

from __future__ import annotations

import contextlib
import os
import stat
from io import BufferedReader

_BYTES_MAX = 64 * 1024


def read_small(path: str) -> bytes | None:
    """Return the beginning of a plain file; None if the file is missing, unreadable or not plain, such as a pipe."""
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


def open_plain(path: str, *, folder: int | None = None) -> BufferedReader | None:
    """Open a plain file for reading. Follow no link, and never wait for a pipe, which an agent may have put there.

    Return None for other kinds of files; raise OSError if the open fails. `folder`: a descriptor of the folder that
    `path` starts from.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    return None


def write_private(path: str | os.PathLike[str], text: str) -> None:
    """Write a file that only the user can read. The write is quicker than the start of a thread."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb", buffering=0) as file:
        data = text.encode()
        while data:
            data = data[file.write(data) :]


def write_durably(path: str | os.PathLike[str], text: str) -> None:
    """Write a file so that even after a power loss the file is complete, or unchanged."""
    folder, name = os.path.split(os.fspath(path))
    part = f"{folder or '.'}/.{name}.{os.getpid()}.part"
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        os.rename(part, path)  # noqa: PTH104 (runners are light: no pathlib)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(part)  # noqa: PTH108 (as above)
        raise
    flush_folder(folder or ".")


def flush_folder(folder: str | os.PathLike[str]) -> None:
    """Flush a folder to the disk, so that new and renamed files in it survive a power loss."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
