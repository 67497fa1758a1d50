"""Find the real path of an open file. The system names the open file: a link that is swapped later has no effect."""

# The client must not import pathlib, which is slow to load:
# ruff: noqa: PTH115

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from maestro.wire import frames

if TYPE_CHECKING:
    from maestro.client.main import FrameExchange

_F_GETPATH = 50  # of <sys/fcntl.h> on macOS
_PATH_BYTES_MAX = 1024


def answer_frame(exchange: FrameExchange, kind: bytes, path: bytes) -> None:
    """Answer the server's `P` with a file's real path, and a later empty `F` with the content of that open file."""
    if kind == frames.OPEN:
        _send_real_path(exchange, path)
        return
    exchange.upload, exchange.announced_file = exchange.announced_file, -1
    if exchange.upload < 0:
        exchange.refuse_upload(OSError(0, "no file is open"))


def _send_real_path(exchange: FrameExchange, path: bytes) -> None:
    """Open a file or folder and send its real path. The content is sent only when the server asks for it."""
    exchange.open_upload(path)
    if exchange.upload < 0:
        return
    try:
        name = real_path(exchange.upload, path)
    except OSError as error:
        exchange.refuse_upload(error)
        return
    exchange.announced_file, exchange.upload = exchange.upload, -1
    exchange.send_frame(frames.DATA, name)
    exchange.send_frame(frames.DATA)


def real_path(fd: int, path: bytes) -> bytes:
    """Return the path of an open file, links resolved. A pipe or a socket has a name without a leading slash."""
    if sys.platform == "darwin":
        import fcntl

        return fcntl.fcntl(fd, _F_GETPATH, bytes(_PATH_BYTES_MAX)).rstrip(b"\0")
    try:
        return os.fsencode(os.readlink(f"/proc/self/fd/{fd}"))
    except OSError:
        return _resolve_path(fd, path)


def _resolve_path(fd: int, path: bytes) -> bytes:
    """Return the path with links resolved, on systems that do not name open files; refuse a path that changed."""
    resolved = os.path.realpath(path)
    if not os.path.samestat(os.fstat(fd), os.lstat(resolved)):
        raise OSError(0, "the file was replaced while it was opened")
    return resolved
