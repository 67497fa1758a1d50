"""The job removes old content files that no row names."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

import pytest
from tests.unit.services.conftest import World

from maestro.core import limits
from maestro.domain.callers import Caller
from maestro.operations import documents, tasks
from maestro.operations.documents import AddDocument
from maestro.operations.mail_shapes import MailFile
from maestro.operations.task_shapes import CreateTask
from maestro.server.app import Server
from maestro.services.housekeeping.stray_blobs import StrayBlobJob
from maestro.testing.clock import FakeClock

DAY = 24 * 3600
LARGE = b"x" * (limits.inline_bytes_max + 1)  # content of this size is stored as a file


async def test_only_old_files_that_no_row_names_are_removed(
    server: Server, dana: Caller, vc: str, clock: FakeClock
) -> None:
    await server.call(tasks.CREATE, CreateTask(project=vc, title="a"), caller=dana)
    large = b"x" * (limits.inline_bytes_max + 1)
    add = AddDocument(project=vc, id="#1", title="kept", content=large)
    await server.call(documents.ADD, add, caller=dana)
    server.blobs.store_content(large + b"stray")
    kept, *_ = [file for file in server.blobs.all_files() if file.stat().st_size == len(large)]
    job = StrayBlobJob(server.store, server.blobs, clock=clock)
    for file in server.blobs.all_files():
        os.utime(file, (clock.now().timestamp(),) * 2)
    await job.run_once()
    assert len(server.blobs.all_files()) == 2  # new files stay, because a request may still name them
    clock.advance(25 * 3600)
    await job.run_once()
    assert server.blobs.all_files() == [kept]


async def test_an_old_file_that_a_request_stores_again_stays(server: Server, clock: FakeClock) -> None:
    """A request holds a file before it renews the file; the job must not remove the file between both steps."""
    job = StrayBlobJob(server.store, server.blobs, clock=clock)
    with server.blobs.new_hold() as hold:
        hold.store_content(b"x" * (limits.inline_bytes_max + 1))
        (file,) = server.blobs.all_files()
        os.utime(file, (clock.now().timestamp() - 25 * 3600,) * 2)
        await job.run_once()
        assert file.exists()
    await job.run_once()
    await job.run_once()
    assert not file.exists()


def store_stray(world: World, content: bytes, *, age_seconds: float) -> Path:
    """Store a content file that no row names, set its age, and return the file."""
    before = set(world.blobs.all_files())
    world.blobs.store_content(content)
    (file,) = set(world.blobs.all_files()) - before
    at = world.clock.now().timestamp() - age_seconds
    os.utime(file, (at, at))
    return file


async def test_the_job_is_due_at_once_after_a_batch_and_after_six_hours_after_a_round(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "job_batch_rows_max", 2)
    for number in range(3):
        store_stray(world, LARGE + bytes([number]), age_seconds=2 * DAY)
    job, now = StrayBlobJob(world.store, world.blobs, clock=world.clock), world.clock.now()
    assert await job.run_once() == now and len(world.blobs.all_files()) == 1
    assert await job.run_once() == now and world.blobs.all_files() == []
    assert await job.run_once() == now + timedelta(hours=6)


async def test_no_file_is_removed_during_a_backup(world: World) -> None:
    file = store_stray(world, LARGE, age_seconds=2 * DAY)
    job = StrayBlobJob(world.store, world.blobs, clock=world.clock)
    with world.blobs.prevent_removal():
        await job.run_once()
        assert file.exists()
        await job.run_once()  # the end of the round: the next round starts again at the first file
    await job.run_once()
    assert not file.exists()


async def test_the_job_checks_the_files_after_files_that_a_row_names(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "job_batch_rows_max", 1)
    for number in range(3):
        await world.send(None, "vc", attach=[MailFile(file_name="large.txt", content=LARGE + bytes([number]))])
    needed = world.blobs.all_files()
    at = world.clock.now().timestamp() - 2 * DAY
    for file in needed:
        os.utime(file, (at, at))
    for number in range(3, 6):
        store_stray(world, LARGE + bytes([number]), age_seconds=2 * DAY)
    job, rounds = StrayBlobJob(world.store, world.blobs, clock=world.clock), 1
    while await job.run_once() == world.clock.now() and rounds < 20:
        rounds += 1
    assert rounds == 7 and world.blobs.all_files() == needed
