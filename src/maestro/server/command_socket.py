"""The Unix socket for commands. A deleted socket file is created again within a second."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path

from maestro.core import limits
from maestro.store.layout import SOCKET

log = logging.getLogger(__name__)
_QUEUE_MAX = 1024  # connections that wait for accept()
AcceptConnection = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class CommandSocket:
    """A listener in the current directory, which is the data directory. `accept` serves each connection."""

    def __init__(self, accept: AcceptConnection) -> None:
        self._accept = accept
        self._server: asyncio.Server | None = None
        self._file: tuple[int, int] | None = None  # the device and inode of our socket file
        self._file_check: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Listen, and listen again after the socket file was deleted or replaced."""
        await self._listen()
        self._file_check = asyncio.create_task(self._recreate_deleted_file(), name="command socket")

    def close(self) -> None:
        """Accept no more connections. Open connections continue."""
        if self._file_check is not None:
            self._file_check.cancel()
        if _current_file() == self._file:
            Path(SOCKET).unlink(missing_ok=True)
        if self._server is not None:
            self._server.close()

    async def _listen(self) -> None:
        previous, self._server = self._server, await asyncio.start_unix_server(self._accept, sock=_bind_socket())
        self._file = _current_file()
        if previous is not None:
            previous.close()

    async def _recreate_deleted_file(self) -> None:
        while True:
            await asyncio.sleep(limits.socket_check_seconds)
            if _current_file() == self._file:
                continue
            try:
                await self._listen()
            except OSError as error:  # no descriptor is free, the disk is full, or the data directory is gone
                log.warning("the socket file was deleted and cannot be created again: %s", error)
                continue
            log.warning("the socket file was deleted: created a new socket file")


def _current_file() -> tuple[int, int] | None:
    """Return the device and inode of the file at the socket's path, or None."""
    try:
        status = Path(SOCKET).stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _bind_socket() -> socket.socket:
    """Return a listening socket, bound by its bare name: the path of a socket has a length limit.

    The file of a killed server is removed first. This is safe, because this server holds the data directory's lock.
    """
    Path(SOCKET).unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(SOCKET)  # the server's umask gives access to the owner only
        listener.listen(_QUEUE_MAX)
    except OSError:
        listener.close()
        raise
    listener.setblocking(False)
    return listener
