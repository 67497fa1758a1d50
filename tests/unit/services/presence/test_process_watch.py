"""The watch reports the end of the recorded process of a live session at once."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from tests.unit.services.conftest import World

from maestro.services.presence.process_watch import ProcessWatch
from maestro.testing.factories import make_session

pytestmark = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="this system has no process descriptors")


class Watched:
    """A watch, and the sessions whose ends the watch has reported."""

    def __init__(self, world: World) -> None:
        self.ended: asyncio.Queue[str] = asyncio.Queue()
        self.watch = ProcessWatch(world.store, self.ended.put)

    async def next_end(self) -> str:
        async with asyncio.timeout(20):
            return await self.ended.get()


@pytest.fixture
async def watched(world: World) -> AsyncIterator[Watched]:
    watched = Watched(world)
    yield watched
    await watched.watch.close()


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    """Start a process that waits until its input ends, and end the process after the test."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield process
    end_process(process)


def end_process(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.communicate()


def count_watched_processes() -> int:
    """Return the number of open process descriptors of this process."""
    count = 0
    for descriptor in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # the descriptor of the folder itself is closed by now
            count += "pidfd" in str(descriptor.readlink())
    return count


async def test_the_end_of_a_process_is_reported_once(
    world: World, watched: Watched, process: subprocess.Popen[bytes]
) -> None:
    worker = await world.join("w", pid=process.pid)
    await watched.watch.watch_live_sessions()
    await watched.watch.watch_live_sessions()
    assert watched.ended.empty()
    end_process(process)
    assert await watched.next_end() == worker.name
    assert watched.ended.empty()


async def test_a_process_that_ended_before_the_watch_is_reported(
    world: World, watched: Watched, process: subprocess.Popen[bytes]
) -> None:
    worker = await world.join("w", pid=process.pid)
    end_process(process)
    await watched.watch.watch_live_sessions()
    assert await watched.next_end() == worker.name


async def test_another_process_with_the_recorded_pid_counts_as_the_end_of_the_process(
    world: World, watched: Watched, process: subprocess.Popen[bytes]
) -> None:
    session = make_session(pid=process.pid, pid_started="earlier", lease_until=world.clock.now())
    await world.store.write(lambda tx: tx.sessions.insert(session, token_hash="", member_id=None))
    await watched.watch.watch_live_sessions()
    assert await watched.next_end() == session.id
    assert count_watched_processes() == 0


async def test_the_process_of_an_ended_session_is_not_watched(
    world: World, watched: Watched, process: subprocess.Popen[bytes]
) -> None:
    worker = await world.join("w", pid=process.pid)
    await watched.watch.watch_live_sessions()
    assert count_watched_processes() == 1
    await world.end(worker)
    await watched.watch.watch_live_sessions()
    assert count_watched_processes() == 0
    end_process(process)
    await watched.watch.watch_live_sessions()
    assert watched.ended.empty()


async def test_a_session_without_a_process_is_not_watched(world: World, watched: Watched) -> None:
    await world.join("w")
    await watched.watch.watch_live_sessions()
    assert count_watched_processes() == 0 and watched.ended.empty()


async def test_a_closed_watch_reports_no_ends(
    world: World, watched: Watched, process: subprocess.Popen[bytes]
) -> None:
    await world.join("w", pid=process.pid)
    await watched.watch.watch_live_sessions()
    await watched.watch.close()
    assert count_watched_processes() == 0
    end_process(process)
    assert watched.ended.empty()
