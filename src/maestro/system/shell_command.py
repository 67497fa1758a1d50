"""Run a shell command to its end or its time limit, and keep a bounded part of its output.

The module is for commands that people configure: gates and set-up commands. All processes of the command end with it:
its process group, and processes that left the group, which a mark in the environment identifies. By the same mark a
server finds processes of a command whose server was killed.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import signal
import time
from collections.abc import Mapping, Sequence

import msgspec

from maestro.core import limits
from maestro.system import stray_processes, subprocesses

_CHUNK_BYTES = 64 * 1024
_MARK = "MAESTRO_COMMAND"


class CommandResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a command."""

    code: int | None  # negative: the signal that ended the command; None: the command could not be started
    is_timed_out: bool = False
    output: bytes  # the last part of both streams; or why the command could not be started
    output_bytes: int  # the size of the whole output
    seconds: float

    @property
    def has_passed(self) -> bool:
        """Return whether the command ended in time with exit code 0."""
        return self.code == 0 and not self.is_timed_out


async def run_command(
    command: str,
    *,
    directory: str,
    environment: Mapping[str, str],
    seconds_max: float,
    bytes_max: int,
    mark: str = "",
    prefix: Sequence[str] = (),
) -> CommandResult:
    """Run a command line with the shell; kill all processes that the command leaves.

    `mark` identifies the purpose of the command. Processes of an earlier command with the same mark are killed first,
    so only one command per mark runs. `prefix` holds the arguments of a program that starts the shell, such as a
    sandbox.
    """
    mark = mark or hashlib.sha256(f"{directory}\n{command}".encode("utf-8", "surrogateescape")).hexdigest()[:32]
    await asyncio.to_thread(stray_processes.kill_marked, _MARK, mark)
    started_at = time.monotonic()
    with _Output(bytes_max) as output:
        try:
            arguments = (*prefix, "/bin/sh", "-c", command)
            process = await _start(arguments, directory, {**environment, _MARK: mark}, output.writer)
        except OSError as error:
            why = f"The command could not be started in {directory}: {error.strerror or error}.".encode(
                "utf-8", "replace"
            )
            return CommandResult(code=None, output=why, output_bytes=len(why), seconds=0.0)
        output.close_writer()
        is_timed_out = False
        try:
            async with asyncio.timeout(seconds_max):
                await process.wait()
        except TimeoutError:
            is_timed_out = True
            await _terminate(process)
        finally:
            await _kill(process)
            await asyncio.to_thread(stray_processes.kill_marked, _MARK, mark)
        output.drain()
        return CommandResult(
            code=process.returncode or 0,
            is_timed_out=is_timed_out,
            output=output.kept_bytes(),
            output_bytes=output.total_bytes,
            seconds=time.monotonic() - started_at,
        )


class _Output:
    """The last part of the output of a command, read from a pipe.

    The pipe is not a pipe of asyncio: asyncio would not report the end of the process while a process outside the
    group holds the pipe open.
    """

    def __init__(self, bytes_max: int) -> None:
        self.total_bytes = 0
        self._bytes_max = bytes_max
        self._kept = bytearray()
        self._reader, self.writer = os.pipe()
        os.set_blocking(self._reader, False)

    def __enter__(self) -> _Output:
        asyncio.get_running_loop().add_reader(self._reader, self._read_when_ready)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.get_running_loop().remove_reader(self._reader)
        os.close(self._reader)
        self.close_writer()

    def close_writer(self) -> None:
        """Close the server's copy of the writing end; the command has its own copy."""
        if self.writer >= 0:
            os.close(self.writer)
            self.writer = -1

    def drain(self) -> None:
        """Read the present content of the pipe, up to a limit, because another process may still write."""
        for _ in range(self._bytes_max // _CHUNK_BYTES + 1):
            if not self._read_chunk():
                return

    def kept_bytes(self) -> bytes:
        return bytes(self._kept[-self._bytes_max :])

    def _read_when_ready(self) -> None:
        if not self._read_chunk():
            asyncio.get_running_loop().remove_reader(self._reader)

    def _read_chunk(self) -> bool:
        try:
            data = os.read(self._reader, _CHUNK_BYTES)
        except BlockingIOError:
            return True
        self.total_bytes += len(data)
        self._kept += data
        if len(self._kept) > 2 * self._bytes_max:
            del self._kept[: -self._bytes_max]
        return bool(data)


async def _start(
    arguments: Sequence[str], directory: str, environment: Mapping[str, str], output: int
) -> asyncio.subprocess.Process:
    return await subprocesses.start_process(
        *arguments,
        cwd=directory,
        env=dict(environment),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=output,
        stderr=output,
    )


async def _terminate(process: asyncio.subprocess.Process) -> None:
    """Ask the process group to end, and wait a moment so that it can release locks and finish files."""
    subprocesses.signal_group(process, signal.SIGTERM)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(limits.command_grace_seconds):
            await process.wait()


async def _kill(process: asyncio.subprocess.Process) -> None:
    subprocesses.signal_group(process)
    await process.wait()
