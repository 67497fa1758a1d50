"""The Unix socket on which commands come in. A socket file that someone deletes is made again within a second."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path

from maestro.core import limits
from maestro.store.layout import SOCKET

log = logging.getLogger(__name__)
_QUEUE_MAX = 1024  # connections that wait to be accepted
Accept = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class CommandSocket:
    """Listens in the current directory, which is the data directory; `accept` serves each connection."""

    def __init__(self, accept: Accept) -> None:
        self._accept = accept
        self._server: asyncio.Server | None = None
        self._file: tuple[int, int] | None = None  # the file of our socket: its device and its number there
        self._keeping: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Listen, and go on listening when the file is deleted or replaced."""
        await self._listen()
        self._keeping = asyncio.create_task(self._keep_file(), name="command socket")

    def close(self) -> None:
        """Take no more connections. Those that are open go on."""
        if self._keeping is not None:
            self._keeping.cancel()
        if _file() == self._file:
            Path(SOCKET).unlink(missing_ok=True)
        if self._server is not None:
            self._server.close()

    async def _listen(self) -> None:
        before, self._server = self._server, await asyncio.start_unix_server(self._accept, sock=_bind())
        self._file = _file()
        if before is not None:
            before.close()

    async def _keep_file(self) -> None:
        while True:
            await asyncio.sleep(limits.socket_check_seconds)
            if _file() == self._file:
                continue
            try:
                await self._listen()
            except OSError as error:  # no descriptor is free, the disk is full, or the data directory is gone
                log.warning("the socket file was deleted and cannot be made again: %s", error)
                continue
            log.warning("the socket file was deleted: it was made again")


def _file() -> tuple[int, int] | None:
    """Return which file the socket's path names now."""
    try:
        found = Path(SOCKET).stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _bind() -> socket.socket:
    """Bind by the bare name, so that a long data directory does not break the path.

    A file that a killed server left is cleared away: this server holds the lock of the data directory.
    """
    Path(SOCKET).unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(SOCKET)  # for its owner alone: the server's umask sees to that
        listener.listen(_QUEUE_MAX)
    except OSError:
        listener.close()
        raise
    listener.setblocking(False)
    return listener
