"""Starts a process that ends with whoever asked for it: also one who is cancelled while it is being started."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from functools import partial
from typing import Any

from maestro.system import umasks


async def start(*words: str, **options: Any) -> asyncio.subprocess.Process:
    """A process in a session of its own. The system may run it before we hear of it: a caller that is cancelled in
    between would leave it to nobody."""
    if (mask := umasks.of_programs()) is not None:
        options["preexec_fn"] = partial(os.umask, mask)  # uvloop has no `umask`
    starting = asyncio.ensure_future(asyncio.create_subprocess_exec(*words, start_new_session=True, **options))
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        with contextlib.suppress(OSError):
            await _ended(await starting)
        raise


def kill(process: asyncio.subprocess.Process, number: signal.Signals = signal.SIGKILL) -> None:
    """Everyone in its group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


async def _ended(process: asyncio.subprocess.Process) -> None:
    kill(process)
    await process.wait()
