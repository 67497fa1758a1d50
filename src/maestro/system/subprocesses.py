"""Start processes that do not outlive their caller, even if the caller is cancelled during the start."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from functools import partial
from typing import Any

from maestro.system import umasks


async def start_process(*arguments: str, **options: Any) -> asyncio.subprocess.Process:
    """Start a process in a session of its own.

    The system may run the process before `create_subprocess_exec` returns. If the caller is cancelled in between, the
    process is killed, because no other code would end it.
    """
    if (mask := umasks.program_umask()) is not None:
        options["preexec_fn"] = partial(os.umask, mask)  # uvloop has no `umask`
    starting = asyncio.ensure_future(asyncio.create_subprocess_exec(*arguments, start_new_session=True, **options))
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        with contextlib.suppress(OSError):
            await _kill_and_wait(await starting)
        raise


def signal_group(process: asyncio.subprocess.Process, signal_number: signal.Signals = signal.SIGKILL) -> None:
    """Send a signal to the process group of a process."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal_number)


async def _kill_and_wait(process: asyncio.subprocess.Process) -> None:
    signal_group(process)
    await process.wait()
