"""Run one command in this process, with its own terminal, input and files."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

from maestro import __version__
from maestro.client import main, real_paths
from maestro.client.remote.app import RemoteApp
from maestro.client.remote.http import HttpApi
from maestro.core import errors, limits
from maestro.surfaces.cli.channel import HandOver, wants_color
from maestro.surfaces.cli.commands import CommandLine
from maestro.surfaces.cli.invocation import Invocation, decode_invocation


class LocalTerminal:
    """The terminal, input and files of this process, with the interface of a client."""

    def __init__(self, asked: Invocation) -> None:
        self.accepts_hand_over = False
        self._opened = -1
        self.stdin_tty = asked.stdin_tty
        self.stdout_tty = asked.stdout_tty
        self.stderr_tty = asked.stderr_tty
        self.columns = asked.columns
        self.color = wants_color(asked.environment, tty=asked.stdout_tty)

    async def write_out(self, data: str | bytes) -> None:
        try:
            main.write_all(1, data.encode() if isinstance(data, str) else data)
        except main.CommandEnded as ended:
            raise SystemExit(ended.code) from None  # the reader of the output has gone

    async def write_err(self, text: str) -> None:
        main.write_all(2, text.encode())

    async def flush(self) -> None:
        """Do nothing: `write_out` writes at once."""

    async def read_stdin(self) -> bytes:
        data: bytes = await asyncio.to_thread(sys.stdin.buffer.read, limits.stdin_bytes_max + 1)
        if len(data) > limits.stdin_bytes_max:
            raise errors.TooLarge(f"Standard input is longer than {limits.stdin_bytes_max} bytes.")
        return data

    async def read_file(self, path: str) -> bytes:
        try:
            return await asyncio.to_thread(Path(path).read_bytes)
        except OSError as error:
            raise errors.Invalid(f"{error.strerror}: {path}.") from error

    async def open_file(self, path: str) -> str:
        try:
            self._opened = os.open(path, os.O_RDONLY)
            return os.fsdecode(real_paths.real_path(self._opened, os.fsencode(path)))
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise errors.Invalid(f"{reason}: {path}.") from error

    async def read_opened_file(self) -> bytes:
        with os.fdopen(self._opened, "rb") as file:
            return await asyncio.to_thread(file.read)

    async def announce_wait(self, milliseconds: int) -> None:
        """Do nothing: RemoteApp repeats a waiting request by itself."""

    async def confirm_output(self) -> bool:
        return True


def run(arguments: list[str]) -> int:
    """Run one command against the server at MAESTRO_SERVER_URL; return the exit code."""
    # A thread that waits for the server cannot be stopped: Ctrl-C must end the whole process at once.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    request = decode_invocation(main.request_payload(arguments))
    api = HttpApi(os.environ["MAESTRO_SERVER_URL"], os.environ.get("MAESTRO_TOKEN", ""))
    code = asyncio.run(
        CommandLine(RemoteApp(api), version=__version__).run_command(request, LocalTerminal(request), peer=None)
    )
    assert not isinstance(code, HandOver), "a remote server hands over no views"
    if code is None:
        from maestro.client import local_commands

        return local_commands.run_local_command(arguments)
    return code
