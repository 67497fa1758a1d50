"""The daily check of the stored data runs in a separate process, and asks the person about damage."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from maestro.core import limits
from maestro.domain.asks import Ask
from maestro.domain.callers import Caller
from maestro.operations import asks as ask_ops
from maestro.operations import documents as document_ops
from maestro.operations import tasks as task_ops
from maestro.server.app import Server
from maestro.server.check_process import check_in_subprocess
from maestro.services.housekeeping.storage_checks import StorageCheckJob
from maestro.store.health import DamageFinding, DamageKind, StorageHealth
from maestro.testing.clock import FakeClock

DAY_SECONDS = 24 * 3600


class Counted:
    """The real check, and the number of its runs."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.runs = 0

    async def __call__(self) -> list[DamageFinding]:
        self.runs += 1
        return await check_in_subprocess(self.home)


@pytest.fixture
def check(server: Server) -> Counted:
    return Counted(server.home)


@pytest.fixture
def job(server: Server, clock: FakeClock, check: Counted) -> StorageCheckJob:
    return StorageCheckJob(server.store, server.health, clock=clock, check=check)


async def open_asks(server: Server, dana: Caller) -> list[Ask]:
    listed = await server.call(ask_ops.LIST, ask_ops.ListAsks(), caller=dana)
    return list(listed.asks)


async def add_document(server: Server, vc: str, dana: Caller) -> Path:
    task = await server.call(task_ops.CREATE, task_ops.CreateTask(project=vc, title="t"), caller=dana)
    content = os.urandom(limits.inline_bytes_max * 2)
    await server.call(document_ops.ADD, document_ops.AddDocument(id=task.id, title="d", content=content), caller=dana)
    (file,) = server.blobs.all_files()
    return file


async def test_the_check_runs_once_a_day(
    server: Server, vc: str, clock: FakeClock, job: StorageCheckJob, check: Counted
) -> None:
    await job.run_once()
    assert check.runs == 0, "the check must not run right after the start"
    clock.advance(limits.check_after_start_seconds)
    for _ in range(3):
        due = await job.run_once()
    assert check.runs == 1 and server.health.problems == []
    assert due is not None and (due - clock.now()).total_seconds() == DAY_SECONDS
    again = StorageCheckJob(server.store, StorageHealth(server.home), clock=clock, check=check)
    clock.advance(limits.check_after_start_seconds)
    await again.run_once()
    assert check.runs == 1, "the next server knows the time of the last check"
    clock.advance(DAY_SECONDS)
    await again.run_once()
    assert check.runs == 2


async def test_the_person_is_asked_about_a_damaged_file_until_the_file_is_repaired(
    server: Server, vc: str, dana: Caller, clock: FakeClock, job: StorageCheckJob
) -> None:
    file = await add_document(server, vc, dana)
    content = file.read_bytes()
    file.write_bytes(b"damaged")
    for _ in range(2):
        clock.advance(DAY_SECONDS)
        await job.run_once()
        (ask,) = await open_asks(server, dana)
        assert file.name in ask.text and ask.asked_by
        (problem,) = server.health.problems
        assert problem.kind is DamageKind.FILES
    server.blobs.store_content(content)
    clock.advance(DAY_SECONDS)
    await job.run_once()
    assert server.health.problems == [] and await open_asks(server, dana) == []
