"""Run the daily check of the stored data in a separate process, with the lowest priority."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import msgspec

from maestro.core import errors
from maestro.server.data_check import CheckReport
from maestro.store.health import DamageFinding
from maestro.system import subprocesses


async def check_in_subprocess(home: Path) -> list[DamageFinding]:
    """Check a data directory and return the damage."""
    command = [sys.executable, "-P", "-m", "maestro.server", "--home", str(home), "--check", "--slowly"]
    pipe, null = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    process = await subprocesses.start_process(*command, stdin=null, stdout=pipe, stderr=null)
    try:
        out, _ = await process.communicate()
    finally:
        if process.returncode is None:
            subprocesses.signal_group(process)
            await process.wait()
    if process.returncode != 0:
        raise errors.StorageFailed("The stored data could not be checked.", hint="Try: maestro doctor")
    return msgspec.json.decode(out, type=CheckReport).findings
