"""Runs a project's set-up command: within its time, with all it started, and with the end of what it printed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time

import msgspec

from maestro import errors, git, limits

_CHUNK_BYTES = 64 * 1024


class SetupRun(msgspec.Struct, frozen=True, kw_only=True):
    """How the command went."""

    command: str
    exit_code: int  # negative: the signal that ended it
    is_timed_out: bool
    output: str  # both streams, the last part when there was much
    output_bytes: int  # of all that it printed
    seconds: float

    @property
    def is_ok(self) -> bool:
        """Whether it came to its end and says that all went well."""
        return self.exit_code == 0 and not self.is_timed_out


async def run(command: str, *, cwd: str, seconds: float) -> SetupRun:
    """Run a command line with the shell; whatever of its process group is left afterwards is ended."""
    started = time.monotonic()
    with _Output() as output:
        process = await _started(command, cwd, output.writer)
        output.close_writer()
        is_timed_out = False
        try:
            async with asyncio.timeout(seconds):
                await process.wait()
        except TimeoutError:
            is_timed_out = True
            await _asked_to_end(process)
        finally:
            await _ended(process)
        output.drain()
        return SetupRun(
            command=command,
            exit_code=process.returncode or 0,
            is_timed_out=is_timed_out,
            output=output.text(),
            output_bytes=output.total_bytes,
            seconds=time.monotonic() - started,
        )


class _Output:
    """The end of what comes through a pipe.

    A pipe of our own: asyncio's would keep the end of the process from us while someone who slipped out of the
    group holds it open.
    """

    def __init__(self) -> None:
        self.total_bytes = 0
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
        for _ in range(limits.setup_output_bytes_max // _CHUNK_BYTES + 1):
            if not self._read():
                return

    def text(self) -> str:
        cut = self.total_bytes - limits.setup_output_bytes_max
        kept = bytes(self._kept[-limits.setup_output_bytes_max :])
        note = f"… {cut} bytes before this are left out …\n" if cut > 0 else ""
        return note + kept.decode("utf-8", "replace")

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
        if len(self._kept) > 2 * limits.setup_output_bytes_max:
            del self._kept[: -limits.setup_output_bytes_max]
        return bool(data)


async def _started(command: str, cwd: str, output: int) -> asyncio.subprocess.Process:
    try:
        return await asyncio.create_subprocess_exec(
            "/bin/sh",
            "-c",
            command,
            cwd=cwd,
            env=_environment(),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    except OSError as error:
        raise errors.MaestroError(f"The set-up command could not be started: {error.strerror}.") from error


def _environment() -> dict[str, str]:
    """Ours, without the variables that would lead a git inside the command astray; the language stays."""
    cleaned = git.environment(os.environ)
    cleaned.pop("GIT_OPTIONAL_LOCKS", None)
    cleaned.pop("LC_ALL", None)
    return cleaned | ({"LC_ALL": os.environ["LC_ALL"]} if "LC_ALL" in os.environ else {})


async def _asked_to_end(process: asyncio.subprocess.Process) -> None:
    """A moment to let go of locks and half-written files."""
    _signal(process, signal.SIGTERM)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(limits.setup_grace_seconds):
            await process.wait()


async def _ended(process: asyncio.subprocess.Process) -> None:
    _signal(process, signal.SIGKILL)
    await process.wait()


def _signal(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
