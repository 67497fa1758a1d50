"""Started processes get a session of their own and do not outlive a cancelled caller."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from maestro.system import subprocesses
from maestro.system.processes import descendants_of
from maestro.testing.supervised import wait_until


def running_children() -> list[int]:
    return [process.pid for process in descendants_of(os.getpid()) if not process.has_ended]


async def test_a_process_leads_a_session_of_its_own() -> None:
    process = await subprocesses.start_process("cat", stdin=asyncio.subprocess.PIPE)
    assert os.getsid(process.pid) == process.pid
    subprocesses.signal_group(process)
    assert await process.wait() == -signal.SIGKILL


async def test_a_signal_reaches_every_process_of_the_group(tmp_path: Path) -> None:
    script = (
        f"sh -c 'trap \"echo child >> {tmp_path}/ended; exit\" TERM; echo ready; while :; do sleep 0.01; done' & wait"
    )
    process = await subprocesses.start_process("sh", "-c", script, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None and await process.stdout.readline() == b"ready\n"
    subprocesses.signal_group(process, signal.SIGTERM)
    assert await process.wait() == -signal.SIGTERM
    await asyncio.to_thread(wait_until, lambda: (tmp_path / "ended").exists())


async def test_a_signal_to_a_group_that_has_ended_is_no_error() -> None:
    process = await subprocesses.start_process("true")
    await process.wait()
    subprocesses.signal_group(process)


async def test_a_program_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(FileNotFoundError):
        await subprocesses.start_process("/no/such/program")


async def test_a_caller_that_is_cancelled_during_the_start_leaves_no_process() -> None:
    before = set(running_children())
    for _ in range(5):
        starting = asyncio.create_task(subprocesses.start_process("sleep", "600"))
        await asyncio.sleep(0)  # lets the start begin
        starting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await starting
        assert set(running_children()) <= before
