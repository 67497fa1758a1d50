"""Runs one shell command to its end or its time limit, and leaves nothing of it behind.

For what people have written down to be run: gates, set-up commands. Its whole process group ends with it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Mapping

import msgspec

_GRACE_SECONDS = 2.0


class Ran(msgspec.Struct, frozen=True):
    """How a command ended; without a code, because its time was over."""

    code: int | None
    output: bytes
    seconds: float
    truncated: bool = False

    @property
    def passed(self) -> bool:
        return self.code == 0


async def run(
    command: str, *, directory: str, environment: Mapping[str, str], seconds_max: float, bytes_max: int
) -> Ran:
    """Run a command in a shell; what it says is kept, from its end if it is too much."""
    began = time.monotonic()
    process = await asyncio.create_subprocess_shell(
        command,
        cwd=directory,
        env=dict(environment),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    assert process.stdout is not None
    kept = bytearray()
    truncated = False
    code: int | None = None
    try:
        async with asyncio.timeout(seconds_max):
            while data := await process.stdout.read(1 << 16):
                kept += data
                if len(kept) > bytes_max:
                    truncated = True
                    del kept[:-bytes_max]
            code = await process.wait()
    except TimeoutError:
        pass
    finally:
        await _end(process)
    return Ran(code, bytes(kept), time.monotonic() - began, truncated)


async def _end(process: asyncio.subprocess.Process) -> None:
    """Everyone in its group: first asked, then not."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_GRACE_SECONDS):
                await process.wait()
                return
