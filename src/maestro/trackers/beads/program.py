"""Run `bd`. Each call is bounded in time and output, and ends with all its child processes."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

from maestro.core import limits
from maestro.system import subprocesses
from maestro.trackers.base import TrackerRefused, TrackerUnreachable
from maestro.trackers.beads import commands
from maestro.trackers.beads.shapes import BeadsOutput

BEADS_FOLDER = ".beads"


class BeadsProgram:
    """The program `bd` in one checkout."""

    def __init__(self, checkout: str, *, program: str, seconds_max: float) -> None:
        self._checkout = checkout
        self._program = program
        self._seconds_max = seconds_max

    async def run_command(self, arguments: Sequence[str], *, actor: str = "") -> BeadsOutput:
        """Run one command to its end. After the time limit the program and its child processes are killed."""
        folder = Path(self._checkout, BEADS_FOLDER)
        if not folder.is_dir():
            raise TrackerUnreachable(f"{self._checkout} has no folder {BEADS_FOLDER}.")
        environment = commands.call_environment(os.environ, folder=str(folder), actor=actor)
        try:
            process = await subprocesses.start_process(
                self._program,
                *arguments,
                cwd=self._checkout,
                env=environment,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
        except OSError as error:
            raise TrackerUnreachable(f"{self._program} cannot be started: {error.strerror or error}.") from error
        except ValueError as error:
            # For example a text with a null byte.
            raise TrackerRefused(f"A text cannot be an argument of bd: {error}.") from error
        try:
            async with asyncio.timeout(self._seconds_max):
                out, err = await asyncio.gather(
                    _read_output(process.stdout, process), _read_output(process.stderr, process)
                )
                code = await process.wait()
        except TimeoutError:
            raise TrackerUnreachable(
                f"`bd {arguments[0]}` has not answered within {self._seconds_max:g} s."
            ) from None
        finally:
            subprocesses.signal_group(process)
            await process.wait()
        return BeadsOutput(code, out.decode(errors="replace"), err.decode(errors="replace"))


async def _read_output(stream: asyncio.StreamReader | None, process: asyncio.subprocess.Process) -> bytes:
    """Return the output. Kill a program that prints too much; reading to the end closes the pipe."""
    assert stream is not None
    kept = bytearray()
    is_too_long = False
    while data := await stream.read(64 * 1024):
        if not is_too_long:
            kept += data
        if not is_too_long and len(kept) > limits.tracker_output_bytes_max:
            is_too_long = True
            kept.clear()
            subprocesses.signal_group(process)
    if is_too_long:
        raise TrackerUnreachable(f"bd printed more than {limits.tracker_output_bytes_max // 1024**2} MiB.")
    return bytes(kept)
