"""The real path of an open file, from the system itself: a link that is swapped later changes nothing."""

# pathlib would be an import too much for the thin client:
# ruff: noqa: PTH115

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from maestro.client.thin import Exchange

_F_GETPATH = 50  # of <sys/fcntl.h> on macOS
_PATH_BYTES_MAX = 1024


def answer(exchange: Exchange, kind: bytes, path: bytes) -> None:
    """Answer the server's `P` with a file's real path, and a later empty `F` with the content of that open file."""
    if kind == b"P":
        _tell_path(exchange, path)
        return
    exchange.source, exchange.opened = exchange.opened, -1
    if exchange.source < 0:
        exchange.refuse(OSError(0, "no file is open"))


def _tell_path(exchange: Exchange, path: bytes) -> None:
    """Open a file or folder and say its real path; send nothing of it before the server asks for it."""
    exchange.open(path)
    if exchange.source < 0:
        return
    try:
        name = real_path(exchange.source, path)
    except OSError as error:
        exchange.refuse(error)
        return
    exchange.opened, exchange.source = exchange.source, -1
    exchange.send(b"D", name)
    exchange.send(b"D")


def real_path(fd: int, path: bytes) -> bytes:
    """Return where the open file lies, links resolved; for a pipe or a socket a name without a slash at the front."""
    if sys.platform == "darwin":
        import fcntl

        return fcntl.fcntl(fd, _F_GETPATH, bytes(_PATH_BYTES_MAX)).rstrip(b"\0")
    try:
        return os.fsencode(os.readlink(f"/proc/self/fd/{fd}"))
    except OSError:
        return _resolved(fd, path)


def _resolved(fd: int, path: bytes) -> bytes:
    """Return the path with links resolved, where the system names no open files; refuse a path that changed."""
    found = os.path.realpath(path)
    if not os.path.samestat(os.fstat(fd), os.lstat(found)):
        raise OSError(0, "the file was replaced while it was opened")
    return found
