"""Runs one shell command to its end or its time limit, with a bound on what is kept of its output.

For what people have written down to be run: gates, set-up commands. All it started ends with it: its process group,
and whoever has left that, known by a mark in the environment. The same mark tells a later server what one that was
killed has left running.
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


class Ran(msgspec.Struct, frozen=True, kw_only=True):
    """How a command went."""

    code: int | None  # negative: the signal that ended it; None: it could not be started
    is_timed_out: bool = False
    output: bytes  # both streams, the last part when there was much; or why it could not be started
    output_bytes: int  # of all that it printed
    seconds: float

    @property
    def passed(self) -> bool:
        """Whether it came to its end and says that all went well."""
        return self.code == 0 and not self.is_timed_out


async def run(
    command: str,
    *,
    directory: str,
    environment: Mapping[str, str],
    seconds_max: float,
    bytes_max: int,
    mark: str = "",
    prefix: Sequence[str] = (),
) -> Ran:
    """Run a command line with the shell; whatever it started that is left afterwards is ended.

    `mark`: what it is run for, one at a time. What is left of an earlier one is ended before it begins.
    `prefix`: the words of a program that starts the shell, such as a sandbox.
    """
    mark = mark or hashlib.sha256(f"{directory}\n{command}".encode("utf-8", "surrogateescape")).hexdigest()[:32]
    await asyncio.to_thread(stray_processes.end, _MARK, mark)
    began = time.monotonic()
    with _Output(bytes_max) as output:
        try:
            words = (*prefix, "/bin/sh", "-c", command)
            process = await _started(words, directory, {**environment, _MARK: mark}, output.writer)
        except OSError as error:
            why = f"It could not be started in {directory}: {error.strerror or error}.".encode("utf-8", "replace")
            return Ran(code=None, output=why, output_bytes=len(why), seconds=0.0)
        output.close_writer()
        is_timed_out = False
        try:
            async with asyncio.timeout(seconds_max):
                await process.wait()
        except TimeoutError:
            is_timed_out = True
            await _asked_to_end(process)
        finally:
            await _ended(process)
            await asyncio.to_thread(stray_processes.end, _MARK, mark)
        output.drain()
        return Ran(
            code=process.returncode or 0,
            is_timed_out=is_timed_out,
            output=output.kept(),
            output_bytes=output.total_bytes,
            seconds=time.monotonic() - began,
        )


class _Output:
    """The end of what comes through a pipe.

    A pipe of our own: asyncio's would keep the end of the process from us while someone who slipped out of the
    group holds it open.
    """

    def __init__(self, bytes_max: int) -> None:
        self.total_bytes = 0
        self._bytes_max = bytes_max
        self._kept = bytearray()
        self._reader, self.writer = os.pipe()
        os.set_blocking(self._reader, False)

    def __enter__(self) -> _Output:
        asyncio.get_running_loop().add_reader(self._reader, self._read_on)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.get_running_loop().remove_reader(self._reader)
        os.close(self._reader)
        self.close_writer()

    def close_writer(self) -> None:
        """Ours alone: the command has its own."""
        if self.writer >= 0:
            os.close(self.writer)
            self.writer = -1

    def drain(self) -> None:
        """Take what is in the pipe now; a bounded amount, for someone may still be writing."""
        for _ in range(self._bytes_max // _CHUNK_BYTES + 1):
            if not self._read():
                return

    def kept(self) -> bytes:
        return bytes(self._kept[-self._bytes_max :])

    def _read_on(self) -> None:
        if not self._read():
            asyncio.get_running_loop().remove_reader(self._reader)

    def _read(self) -> bool:
        try:
            data = os.read(self._reader, _CHUNK_BYTES)
        except BlockingIOError:
            return True
        self.total_bytes += len(data)
        self._kept += data
        if len(self._kept) > 2 * self._bytes_max:
            del self._kept[: -self._bytes_max]
        return bool(data)


async def _started(
    words: Sequence[str], directory: str, environment: Mapping[str, str], output: int
) -> asyncio.subprocess.Process:
    return await subprocesses.start(
        *words,
        cwd=directory,
        env=dict(environment),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=output,
        stderr=output,
    )


async def _asked_to_end(process: asyncio.subprocess.Process) -> None:
    """A moment to let go of locks and half-written files."""
    subprocesses.kill(process, signal.SIGTERM)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(limits.command_grace_seconds):
            await process.wait()


async def _ended(process: asyncio.subprocess.Process) -> None:
    subprocesses.kill(process)
    await process.wait()
