"""The server's client of the runner forker starts real runners through a real forker process."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from maestro.services.runners.forker_client import RunnerForkerClient
from maestro.system import processes
from maestro.testing.supervised import wait_until
from maestro.wire import runner_folder
from maestro.wire.runner_order import RunnerOrder, order_fields


class Forker:
    """A client of the forker, and the sessions whose runners have ended."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ended: asyncio.Queue[str] = asyncio.Queue()
        self.client = RunnerForkerClient(self.ended.put_nowait)

    def order(self, session_id: str, *words: str) -> dict[str, Any]:
        """Return the order for a runner without a server."""
        folder = self.folder / session_id
        folder.mkdir()
        return order_fields(
            RunnerOrder(
                session_id=session_id,
                token="none",
                secret="none",
                socket=str(folder / "no-server.sock"),
                folder=str(folder),
                arguments=list(words),
                directory=str(folder),
                environment={"PATH": os.environ["PATH"]},
                terminal=False,
                stop_seconds=0.3,
            )
        )

    async def next_end(self) -> str:
        async with asyncio.timeout(30):
            return await self.ended.get()


@pytest.fixture
async def forker(tmp_path: Path) -> AsyncIterator[Forker]:
    made = Forker(tmp_path)
    yield made
    await made.client.close()


def has_ended(pid: int) -> bool:
    process = processes.find_process(pid)
    return process is None or process.has_ended


def forker_of(runner: processes.Process) -> int:
    """Return the pid of the process that forked the runner."""
    return processes.ancestors_of(runner.pid)[1].pid


def record_as(found: list[processes.Process], *, is_wanted: bool) -> Callable[[processes.Process], Any]:
    """Return a function that records the process of a runner."""

    async def record(process: processes.Process) -> bool:
        found.append(process)
        return is_wanted

    return record


@pytest.mark.slow
async def test_a_runner_begins_after_its_process_is_recorded(forker: Forker) -> None:
    recorded: list[processes.Process] = []
    order = forker.order("ses_one", "touch", "began")
    began = forker.folder / "ses_one" / "began"

    async def record(process: processes.Process) -> bool:
        recorded.append(process)
        assert not began.exists()
        return True

    pid = await forker.client.fork_runner(order, record=record)
    assert [process.pid for process in recorded] == [pid]
    assert await forker.next_end() == "ses_one"
    assert began.exists()


async def test_a_runner_that_is_not_wanted_ends_before_its_program_starts(forker: Forker) -> None:
    order = forker.order("ses_one", "touch", "began")
    await forker.client.fork_runner(order, record=record_as([], is_wanted=False))
    assert await forker.next_end() == "ses_one"
    assert not (forker.folder / "ses_one" / "began").exists()


async def test_a_runner_whose_record_fails_is_not_wanted(forker: Forker) -> None:
    async def fail(process: processes.Process) -> bool:
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="the disk is full"):
        await forker.client.fork_runner(forker.order("ses_one", "touch", "began"), record=fail)
    assert await forker.next_end() == "ses_one"
    assert not (forker.folder / "ses_one" / "began").exists()


@pytest.mark.slow
async def test_the_end_of_the_forker_reports_its_runners_and_the_next_runner_gets_a_new_forker(
    forker: Forker,
) -> None:
    recorded: list[processes.Process] = []
    record = record_as(recorded, is_wanted=True)
    runner = await forker.client.fork_runner(forker.order("ses_one", "sleep", "600"), record=record)
    note = forker.folder / "ses_one" / runner_folder.IDENTITY
    try:
        await asyncio.to_thread(wait_until, note.exists, what="the start of the program")
        os.kill(forker_of(recorded[0]), signal.SIGKILL)
        assert await forker.next_end() == "ses_one", "the server must check the runner by itself"
        await forker.client.fork_runner(forker.order("ses_two", "true"), record=record)
        assert await forker.next_end() == "ses_two"
        assert not has_ended(runner), "a runner outlives its forker"
    finally:
        os.kill(runner, signal.SIGTERM)
        await asyncio.to_thread(wait_until, lambda: has_ended(runner), what="the end of the runner")


@pytest.mark.slow
async def test_runners_outlive_a_closed_client(tmp_path: Path) -> None:
    forker = Forker(tmp_path)
    runner = await forker.client.fork_runner(
        forker.order("ses_one", "sleep", "600"), record=record_as([], is_wanted=True)
    )
    note = tmp_path / "ses_one" / runner_folder.IDENTITY
    try:
        await asyncio.to_thread(wait_until, note.exists, what="the start of the program")
        await forker.client.close()
        assert not has_ended(runner)
    finally:
        os.kill(runner, signal.SIGTERM)
        await asyncio.to_thread(wait_until, lambda: has_ended(runner), what="the end of the runner")


async def test_a_close_without_a_forker_does_nothing(tmp_path: Path) -> None:
    await Forker(tmp_path).client.close()
