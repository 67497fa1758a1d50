"""Leases that run out, old log lines, stray files: each job does a bounded batch and says when it is due again."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest

from maestro.core import errors, limits
from maestro.domain.callers import Caller
from maestro.operations import documents, sessions, tasks
from maestro.operations import server as server_ops
from maestro.operations.documents import AddDocument
from maestro.operations.task_shapes import CreateTask, OneTask, StartTask
from maestro.server.app import Server
from maestro.services.housekeeping.retention import EventRetentionJob
from maestro.services.housekeeping.stray_blobs import StrayBlobJob
from maestro.services.tasks.expired_claims import ClaimExpiryJob
from maestro.testing.clock import FakeClock

Join = Callable[..., Awaitable[Caller]]


async def status(server: Server, caller: Caller, ref: str) -> tuple[str, str | None]:
    task = await server.call(tasks.SHOW, OneTask(id=ref), caller=caller)
    return task.status.value, task.holder


async def test_an_expired_claim_comes_back(
    server: Server, dana: Caller, vc: str, join: Join, clock: FakeClock
) -> None:
    await server.call(tasks.CREATE, CreateTask(project=vc, title="a"), caller=dana)
    worker = await join("w")
    await server.call(tasks.START, StartTask(id="#1", lease=10_000), caller=worker)
    job = server.lease_job
    assert await job.run_once() == clock.now() + timedelta(seconds=10)
    clock.advance(11)
    assert await job.run_once() is None
    assert await status(server, dana, "vc#1") == ("todo", None)
    kinds = [
        event.kind for event in (await server.call(server_ops.EVENTS, server_ops.ReadEvents(), caller=dana)).events
    ]
    assert kinds[-2:] == ["task.claim_expired", "task.ready"]


async def test_a_heartbeat_keeps_a_claim(server: Server, dana: Caller, vc: str, join: Join, clock: FakeClock) -> None:
    await server.call(tasks.CREATE, CreateTask(project=vc, title="a"), caller=dana)
    worker = await join("w")
    await server.call(tasks.START, StartTask(id="#1", lease=10_000), caller=worker)
    for _ in range(5):
        clock.advance(8)
        beat = await server.call(sessions.HEARTBEAT, sessions.SendHeartbeat(), caller=worker)
        assert beat.renewed == 1
        await server.lease_job.run_once()
    assert await status(server, dana, "vc#1") == ("in_progress", worker.session_id)
    clock.advance(11)  # too late: what has run out is not renewed
    assert (await server.call(sessions.HEARTBEAT, sessions.SendHeartbeat(), caller=worker)).renewed == 0


@pytest.mark.parametrize("seconds", [3600, -3600], ids=["slept, or set forward", "set back"])
async def test_after_a_sleep_a_claim_goes_on_for_a_while(
    server: Server, dana: Caller, vc: str, join: Join, clock: FakeClock, seconds: int
) -> None:
    await server.call(tasks.CREATE, CreateTask(project=vc, title="a"), caller=dana)
    worker, other = await join("w"), await join("other")
    await server.call(tasks.START, StartTask(id="#1", lease=10_000), caller=worker)
    clock.jump(seconds)
    with pytest.raises(errors.AlreadyHeld):
        await server.call(tasks.START, StartTask(id="#1"), caller=other)
    clock.advance(limits.sleep_grace_seconds - 1)
    await server.lease_job.run_once()
    assert await status(server, dana, "vc#1") == ("in_progress", worker.session_id)
    clock.advance(2 if seconds > 0 else 3600)
    await server.lease_job.run_once()
    assert await status(server, dana, "vc#1") == ("todo", None)


async def test_a_holder_that_woke_renews_its_claim(
    server: Server, dana: Caller, vc: str, join: Join, clock: FakeClock
) -> None:
    await server.call(tasks.CREATE, CreateTask(project=vc, title="a"), caller=dana)
    worker = await join("w")
    await server.call(tasks.START, StartTask(id="#1", lease=10_000), caller=worker)
    clock.jump(3600)
    assert (await server.call(sessions.HEARTBEAT, sessions.SendHeartbeat(), caller=worker)).renewed == 1


async def test_a_server_that_was_away_gives_claims_time(
    server: Server, dana: Caller, vc: str, join: Join, clock: FakeClock
) -> None:
    await server.call(tasks.CREATE, CreateTask(project=vc, title="a"), caller=dana)
    worker = await join("w")
    await server.call(tasks.START, StartTask(id="#1", lease=10_000), caller=worker)
    clock.advance(3600)
    again = ClaimExpiryJob(server.store, clock=clock)
    due = await again.run_once()
    assert due == clock.now() + timedelta(seconds=limits.sleep_grace_seconds)
    assert await status(server, dana, "vc#1") == ("in_progress", worker.session_id)
    clock.advance(limits.sleep_grace_seconds)
    await again.run_once()
    assert await status(server, dana, "vc#1") == ("todo", None)


async def test_the_running_server_acts_on_a_lease_without_being_asked(
    server: Server, dana: Caller, vc: str, join: Join, clock: FakeClock
) -> None:
    await server.call(tasks.CREATE, CreateTask(project=vc, title="a"), caller=dana)
    worker = await join("w")
    with server.hub.subscribe([vc]) as heard:
        await server.call(tasks.START, StartTask(id="#1", lease=5_000), caller=worker)
        clock.advance(6)
        server.background_jobs.nudge_job("leases")
        async with asyncio.timeout(10):
            while "task.claim_expired" not in [event.kind for event in heard.take_events()]:
                await heard.wait_for_event()


async def test_old_log_lines_go_and_the_horizon_is_told(
    server: Server, dana: Caller, vc: str, clock: FakeClock
) -> None:
    for number in range(4):
        await server.call(tasks.CREATE, CreateTask(project=vc, title=f"{number}"), caller=dana)
    before = await server.store.read(lambda tx: tx.events.last_seq())
    clock.advance(91 * 24 * 3600)
    await server.call(tasks.CREATE, CreateTask(project=vc, title="new"), caller=dana)
    due = await EventRetentionJob(server.store, events_days=90).run_once()
    assert due == clock.now() + timedelta(hours=1)
    assert await server.store.read(lambda tx: tx.events.retention_horizon()) == before
    page = await server.call(server_ops.EVENTS, server_ops.ReadEvents(since=1), caller=dana)
    assert page.resync is not None and page.resync.complete
    assert [task["ref"] for task in page.resync.tasks] == [f"vc#{number}" for number in range(1, 6)]
    following = await server.call(server_ops.EVENTS, server_ops.ReadEvents(since=page.resync.seq), caller=dana)
    assert following.events == [] and following.resync is None


async def test_a_stream_past_the_horizon_resyncs_and_goes_on(
    server: Server, dana: Caller, vc: str, clock: FakeClock
) -> None:
    await server.call(tasks.CREATE, CreateTask(project=vc, title="old"), caller=dana)
    clock.advance(91 * 24 * 3600)
    await server.call(tasks.CREATE, CreateTask(project=vc, title="new"), caller=dana)
    await EventRetentionJob(server.store, events_days=90).run_once()
    stream = server.stream(server_ops.EVENTS, server_ops.ReadEvents(since=1, follow=True), caller=dana)
    resync = await anext(stream)
    assert isinstance(resync, server_ops.Resync)
    await server.call(tasks.CREATE, CreateTask(project=vc, title="newer"), caller=dana)
    async with asyncio.timeout(10):
        assert (await anext(stream)).seq == resync.seq + 1


async def test_keys_are_forgotten_after_a_week(server: Server, dana: Caller, vc: str, clock: FakeClock) -> None:
    first = await server.call(tasks.CREATE, CreateTask(project=vc, title="a"), caller=dana, key="k")
    clock.advance(6 * 24 * 3600)
    await EventRetentionJob(server.store, events_days=0).run_once()
    assert (await server.call(tasks.CREATE, CreateTask(project=vc, title="a"), caller=dana, key="k")).id == first.id
    clock.advance(2 * 24 * 3600)
    await EventRetentionJob(server.store, events_days=0).run_once()
    assert (await server.call(tasks.CREATE, CreateTask(project=vc, title="a"), caller=dana, key="k")).id != first.id


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
    assert len(server.blobs.all_files()) == 2  # too young to judge
    clock.advance(25 * 3600)
    await job.run_once()
    assert server.blobs.all_files() == [kept]


async def test_an_old_file_that_is_kept_again_stays(server: Server, clock: FakeClock) -> None:
    """A request holds a file before it makes the file young again: the job must not come in between."""
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
