"""A session is lost only without a lease, signs of life and a process, and not because of a jump of the clock."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from maestro.core import errors, ids, limits
from maestro.domain.documents import ReportKind
from maestro.domain.sessions import SessionStatus
from maestro.operations.sessions import ReportSession
from maestro.services.recovery.lost_sessions import LostSessionJob
from maestro.services.tasks import session_report as session_reports
from maestro.testing.factories import make_session

World = Any
ALONE, LEASE, GRACE = (
    limits.session_lease_without_process_seconds,
    limits.session_lease_seconds,
    limits.sleep_grace_seconds,
)


@pytest.fixture
def job(world: World) -> LostSessionJob:
    return LostSessionJob(world.store, world.presence, clock=world.clock)


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    """Start a process that waits until its input ends, and end the process after the test."""
    running = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield running
    running.kill()
    running.communicate()


async def status(world: World, caller: Any) -> tuple[str, bool]:
    """Return the status of a session and whether the session has ended."""
    session = await world.session(caller)
    return session.status.value, session.ended_at is not None


async def test_a_session_with_a_valid_lease_is_not_lost(world: World, job: LostSessionJob) -> None:
    worker = await world.join("w")
    await job.run_once()
    world.clock.advance(ALONE - 1)
    await job.run_once()
    assert await status(world, worker) == ("working", False)


async def test_a_session_without_lease_sign_of_life_and_process_is_lost(world: World, job: LostSessionJob) -> None:
    boss = await world.boss("boss")
    worker = await world.join("w", under=boss)
    await world.task(held_by=worker)
    await job.run_once()
    world.clock.advance(ALONE + 1)
    world.presence.record_sign(boss.name)
    await job.run_once()
    assert await status(world, worker) == ("lost", True) and await status(world, boss) == ("idle", False)
    (notice,) = await world.unread(boss)
    assert (notice.subject, notice.priority) == ("w is lost", "high") and "No sign of life since" in notice.body
    task = await world.store.read(lambda tx: tx.tasks.by_number(boss.project_id, 1))
    assert (task.status, task.holder) == ("todo", None)
    lost = [event for event in await world.log() if event.kind == "session.lost"]
    assert [(event.subject, event.actor) for event in lost] == [(worker.name, "maestro")]


async def test_the_person_and_the_workers_get_a_notice_about_a_lost_top_coordinator(
    world: World, job: LostSessionJob
) -> None:
    boss = await world.boss("boss")
    worker = await world.join("w", under=boss)
    await job.run_once()
    world.clock.advance(ALONE + 1)
    world.presence.record_sign(worker.name)
    await job.run_once()
    assert await world.subjects() == ["boss is lost"]
    (notice,) = await world.unread(worker)
    assert notice.subject == "Your coordinator boss is lost" and "human" in notice.body


async def test_a_sign_of_life_keeps_a_session_and_renews_its_lease(world: World, job: LostSessionJob) -> None:
    worker = await world.join("w")
    await job.run_once()
    world.clock.advance(ALONE + 1)
    world.presence.record_sign(worker.name)
    await job.run_once()
    session = await world.session(worker)
    assert session.ended_at is None and session.lease_until > world.clock.now()
    with world.presence.keep_connected(worker.name):  # an open wait of the session
        world.clock.advance(10 * ALONE)
        await job.run_once()
        assert await status(world, worker) == ("working", False)


async def test_a_session_is_lost_only_after_the_end_of_its_process(
    world: World, job: LostSessionJob, process: subprocess.Popen[bytes]
) -> None:
    worker = await world.join("w", pid=process.pid)
    await job.run_once()
    for _ in range(3):
        world.clock.advance(LEASE + 1)
        await job.run_once()
        assert await status(world, worker) == ("working", False)
    process.kill()
    process.wait()
    world.clock.advance(LEASE + 1)
    await job.run_once()
    assert await status(world, worker) == ("lost", True)
    signals = await world.store.read(lambda tx: tx.sessions.signals_of(worker.name))
    assert signals[0].source == "process" and f"process {process.pid} is gone" in signals[0].detail


async def test_another_process_with_the_recorded_pid_does_not_keep_a_session(
    world: World, job: LostSessionJob
) -> None:
    session = make_session(
        pid=os.getpid(),
        pid_started="long ago",
        lease_until=world.clock.now(),
        project_id=world.coordinator.project_id,
    )
    await world.store.write(lambda tx: tx.sessions.insert(session, token_hash="x", member_id=None))
    world.clock.advance(-1)
    await job.run_once()
    world.clock.advance(LEASE + 2)
    await job.run_once()
    found = await world.store.read(lambda tx: tx.sessions.get(session.id))
    assert found.status is SessionStatus.LOST


async def test_a_silent_session_that_reported_its_completion_ends_as_completed(
    world: World, job: LostSessionJob
) -> None:
    boss = await world.boss("boss")
    worker = await world.join("w", under=boss)
    await world.do(session_reports.report_work, ReportSession(kind=ReportKind.COMPLETE, text="all of it"), by=worker)
    await job.run_once()
    world.clock.advance(ALONE + 1)
    world.presence.record_sign(boss.name)
    await job.run_once()
    assert await status(world, worker) == ("completed", True)
    assert await world.subjects(boss) == ["w has completed"]  # only the notice about the report


@pytest.mark.parametrize("seconds", [3600, 8 * 3600, 30 * 24 * 3600])
async def test_sessions_get_a_grace_period_after_a_sleep_of_the_machine(
    world: World, job: LostSessionJob, seconds: float
) -> None:
    worker, gone = await world.join("w"), await world.join("gone")
    await job.run_once()
    world.clock.jump(seconds)  # the monotonic clock does not advance
    due = await job.run_once()
    assert due is not None and 0 < (due - world.clock.now()).total_seconds() <= GRACE
    world.clock.advance(GRACE - 1)
    await job.run_once()
    assert await status(world, worker) == await status(world, gone) == ("working", False)
    world.presence.record_sign(worker.name)
    world.clock.advance(ALONE)
    world.presence.record_sign(worker.name)
    await job.run_once()
    assert await status(world, worker) == ("working", False) and await status(world, gone) == ("lost", True)


async def test_a_clock_that_is_set_ahead_does_not_lose_a_session(world: World, job: LostSessionJob) -> None:
    """By the monotonic clock, the session has been silent for less than its lease without a process."""
    worker = await world.join("w")
    world.presence.record_sign(worker.name)
    await job.run_once()
    world.clock.advance(LEASE + 60)
    world.clock.jump(3600)
    await job.run_once()
    world.clock.advance(GRACE + 1)
    await job.run_once()
    assert await status(world, worker) == ("working", False)


async def test_a_clock_that_is_set_back_does_not_lose_a_session(world: World, job: LostSessionJob) -> None:
    worker = await world.join("w")
    await job.run_once()
    world.clock.jump(-3600)
    await job.run_once()
    world.clock.advance(60)
    await job.run_once()
    assert await status(world, worker) == ("working", False)


async def test_sessions_get_a_grace_period_after_a_time_without_a_server(world: World) -> None:
    worker = await world.join("w")
    world.clock.advance(ALONE + 1)  # without a server, no session could give a sign of life
    job = LostSessionJob(world.store, world.presence, clock=world.clock)
    due = await job.run_once()
    assert due is not None and (due - world.clock.now()).total_seconds() == GRACE
    assert await status(world, worker) == ("working", False)
    world.clock.advance(GRACE + 1)
    await job.run_once()
    assert await status(world, worker) == ("lost", True)


async def test_a_session_whose_lease_ends_just_after_the_start_gets_a_grace_period(world: World) -> None:
    """No server ran for nearly all of the lease, so a silent session had no server that could hear it."""
    worker = await world.join("w")
    world.clock.advance(ALONE - 5)
    job = LostSessionJob(world.store, world.presence, clock=world.clock)
    await job.run_once()
    world.clock.advance(10)
    await job.run_once()
    assert await status(world, worker) == ("working", False)


async def test_a_server_that_starts_without_sessions_gives_no_grace_period(world: World, job: LostSessionJob) -> None:
    await job.run_once()
    worker = await world.join("w")
    world.clock.advance(ALONE + 1)
    await job.run_once()
    assert await status(world, worker) == ("lost", True)


async def test_each_round_is_bounded_and_is_due_at_once_while_lost_sessions_remain(
    world: World, job: LostSessionJob
) -> None:
    count = 2 * limits.job_batch_rows_max + 1
    await job.run_once()
    made = [
        make_session(id=ids.new_id("ses", world.clock.now()), name=f"w{number}", lease_until=world.clock.now())
        for number in range(count)
    ]
    for start in range(0, count, 500):
        part = made[start : start + 500]
        await world.store.write(
            lambda tx, part=part: [tx.sessions.insert(one, token_hash=one.id, member_id=None) for one in part]
        )
    world.clock.advance(1)
    left = []
    for _ in range(3):
        due = await job.run_once()
        live = await world.store.read(lambda tx: len(tx.sessions.ids_live(world.coordinator.project_id, limit=count)))
        left.append((live, due is not None and due <= world.clock.now()))
    assert left == [(count - 500, True), (1, True), (0, False)]


async def test_the_name_of_a_session_becomes_free_when_its_lease_and_its_process_have_ended(
    world: World, process: subprocess.Popen[bytes]
) -> None:
    worker = await world.join("w", pid=process.pid)
    world.clock.advance(LEASE + 1)
    with pytest.raises(errors.NameTaken):
        await world.join("w")
    process.kill()
    process.wait()
    again = await world.join("w")
    assert await status(world, worker) == ("lost", True) and again.name != worker.name


async def test_the_name_of_a_session_without_a_process_becomes_free_only_by_the_job(
    world: World, job: LostSessionJob
) -> None:
    await job.run_once()
    worker = await world.join("w")
    world.clock.advance(ALONE + 1)
    with pytest.raises(errors.NameTaken):
        await world.join("w")
    await job.run_once()
    await world.join("w")
    assert await status(world, worker) == ("lost", True)
