"""Test the check of the stored data in its own process."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from maestro.core import errors
from maestro.server.app import Server
from maestro.server.check_process import check_in_subprocess


async def test_a_sound_data_directory_has_no_findings(server: Server) -> None:
    assert await check_in_subprocess(server.home) == []


async def test_a_killed_check_is_an_error(server: Server) -> None:
    before = child_pids()
    check = asyncio.ensure_future(check_in_subprocess(server.home))
    (pid,) = await wait_for_new_child(before)
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(errors.StorageFailed, match="could not be checked"):
        await check


async def test_a_cancelled_check_leaves_no_process(server: Server) -> None:
    before = child_pids()
    check = asyncio.ensure_future(check_in_subprocess(server.home))
    await wait_for_new_child(before)
    check.cancel()
    with pytest.raises(asyncio.CancelledError):
        await check
    assert child_pids() == before


async def wait_for_new_child(before: set[int]) -> set[int]:
    async with asyncio.timeout(20):
        while not (new := child_pids() - before):  # noqa: ASYNC110 (the system announces no new process)
            await asyncio.sleep(0.01)
    return new


def child_pids() -> set[int]:
    """Return the pids of the children of this process."""
    return {int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()}
