"""Run one command in this process, with its own terminal, input and files."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

from maestro import __version__
from maestro.client import opened, thin
from maestro.client.remote.app import RemoteApp
from maestro.client.remote.http import Api
from maestro.core import errors, limits
from maestro.surfaces.cli.channel import HandOver, wants_color
from maestro.surfaces.cli.commands import CommandLine
from maestro.surfaces.cli.frames import Invocation, invocation


class Terminal:
    """The terminal, input and files of this process, with the interface of a client."""

    def __init__(self, asked: Invocation) -> None:
        self.can_go_on = False
        self._opened = -1
        self.stdin_tty = asked.stdin_tty
        self.stdout_tty = asked.stdout_tty
        self.stderr_tty = asked.stderr_tty
        self.columns = asked.columns
        self.color = wants_color(asked.environment, tty=asked.stdout_tty)

    async def out(self, data: str | bytes) -> None:
        try:
            thin.put(1, data.encode() if isinstance(data, str) else data)
        except thin.Ended as ended:
            raise SystemExit(ended.code) from None  # the reader of the output has gone

    async def err(self, text: str) -> None:
        thin.put(2, text.encode())

    async def flush(self) -> None:
        """Do nothing: `out` writes at once."""

    async def stdin(self) -> bytes:
        data: bytes = await asyncio.to_thread(sys.stdin.buffer.read, limits.stdin_bytes_max + 1)
        if len(data) > limits.stdin_bytes_max:
            raise errors.TooLarge(f"Standard input is longer than {limits.stdin_bytes_max} bytes.")
        return data

    async def file(self, path: str) -> bytes:
        try:
            return await asyncio.to_thread(Path(path).read_bytes)
        except OSError as error:
            raise errors.Invalid(f"{error.strerror}: {path}.") from error

    async def open(self, path: str) -> str:
        try:
            self._opened = os.open(path, os.O_RDONLY)
            return os.fsdecode(opened.real_path(self._opened, os.fsencode(path)))
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise errors.Invalid(f"{reason}: {path}.") from error

    async def opened(self) -> bytes:
        with os.fdopen(self._opened, "rb") as file:
            return await asyncio.to_thread(file.read)

    async def waiting(self, milliseconds: int) -> None:
        """Do nothing: RemoteApp repeats a waiting request by itself."""

    async def confirm(self) -> bool:
        return True


def run(arguments: list[str]) -> int:
    """Run one command against the server at MAESTRO_SERVER_URL; return the exit code."""
    # A thread that waits for the server cannot be stopped: Ctrl-C must end the whole process at once.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    request = invocation(thin.request(arguments))
    api = Api(os.environ["MAESTRO_SERVER_URL"], os.environ.get("MAESTRO_TOKEN", ""))
    code = asyncio.run(CommandLine(RemoteApp(api), version=__version__).run(request, Terminal(request), peer=None))
    assert not isinstance(code, HandOver), "a remote server hands over no views"
    if code is None:
        from maestro.client import local

        return local.run(arguments)
    return code
