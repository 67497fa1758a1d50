"""A session is lost only when lease, signs of life and process are all gone; never by a clock."""

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
    """A program that stays until it is told to go."""
    running = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield running
    running.kill()
    running.communicate()


async def status(world: World, caller: Any) -> tuple[str, bool]:
    """A session's status, and whether it has ended."""
    session = await world.session(caller)
    return session.status.value, session.ended_at is not None


async def test_a_lease_that_runs_keeps_a_session(world: World, job: LostSessionJob) -> None:
    worker = await world.join("w")
    await job.run_once()
    world.clock.advance(ALONE - 1)
    await job.run_once()
    assert await status(world, worker) == ("working", False)


async def test_nothing_left_that_speaks_for_it(world: World, job: LostSessionJob) -> None:
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


async def test_a_lost_root_is_told_to_the_person_and_its_workers(world: World, job: LostSessionJob) -> None:
    boss = await world.boss("boss")
    worker = await world.join("w", under=boss)
    await job.run_once()
    world.clock.advance(ALONE + 1)
    world.presence.record_sign(worker.name)
    await job.run_once()
    assert await world.subjects() == ["boss is lost"]
    (notice,) = await world.unread(worker)
    assert notice.subject == "Your coordinator boss is lost" and "human" in notice.body


async def test_whoever_was_heard_is_alive_and_its_lease_goes_on(world: World, job: LostSessionJob) -> None:
    worker = await world.join("w")
    await job.run_once()
    world.clock.advance(ALONE + 1)
    world.presence.record_sign(worker.name)
    await job.run_once()
    session = await world.session(worker)
    assert session.ended_at is None and session.lease_until > world.clock.now()
    with world.presence.keep_connected(worker.name):  # one that waits on an open line
        world.clock.advance(10 * ALONE)
        await job.run_once()
        assert await status(world, worker) == ("working", False)


async def test_a_process_that_lives_keeps_its_session(
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


async def test_another_process_with_the_same_number_is_another(world: World, job: LostSessionJob) -> None:
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


async def test_one_that_said_it_was_done_is_done_and_not_lost(world: World, job: LostSessionJob) -> None:
    boss = await world.boss("boss")
    worker = await world.join("w", under=boss)
    await world.do(session_reports.report_work, ReportSession(kind=ReportKind.COMPLETE, text="all of it"), by=worker)
    await job.run_once()
    world.clock.advance(ALONE + 1)
    world.presence.record_sign(boss.name)
    await job.run_once()
    assert await status(world, worker) == ("completed", True)
    assert await world.subjects(boss) == ["w has completed"]  # said once, by itself


@pytest.mark.parametrize("seconds", [3600, 8 * 3600, 30 * 24 * 3600])
async def test_a_machine_that_slept_gives_everyone_time_first(
    world: World, job: LostSessionJob, seconds: float
) -> None:
    worker, gone = await world.join("w"), await world.join("gone")
    await job.run_once()
    world.clock.jump(seconds)  # for the monotonic clock no time has passed
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


async def test_a_clock_that_was_set_ahead_makes_nobody_silent_for_longer(world: World, job: LostSessionJob) -> None:
    """By the clock that nobody sets, this one has been silent for less than its lease."""
    worker = await world.join("w")
    world.presence.record_sign(worker.name)
    await job.run_once()
    world.clock.advance(LEASE + 60)
    world.clock.jump(3600)
    await job.run_once()
    world.clock.advance(GRACE + 1)
    await job.run_once()
    assert await status(world, worker) == ("working", False)


async def test_a_clock_that_was_set_back_loses_nobody(world: World, job: LostSessionJob) -> None:
    worker = await world.join("w")
    await job.run_once()
    world.clock.jump(-3600)
    await job.run_once()
    world.clock.advance(60)
    await job.run_once()
    assert await status(world, worker) == ("working", False)


async def test_after_the_server_was_away_everyone_gets_time(world: World) -> None:
    worker = await world.join("w")
    world.clock.advance(ALONE + 1)  # no server all the while: nobody could be heard
    job = LostSessionJob(world.store, world.presence, clock=world.clock)
    due = await job.run_once()
    assert due is not None and (due - world.clock.now()).total_seconds() == GRACE
    assert await status(world, worker) == ("working", False)
    world.clock.advance(GRACE + 1)
    await job.run_once()
    assert await status(world, worker) == ("lost", True)


async def test_a_lease_that_ends_just_after_the_start_is_given_time_too(world: World) -> None:
    """The server was away for nearly all of the lease: who is silent may only have had nobody to speak to."""
    worker = await world.join("w")
    world.clock.advance(ALONE - 5)
    job = LostSessionJob(world.store, world.presence, clock=world.clock)
    await job.run_once()
    world.clock.advance(10)
    await job.run_once()
    assert await status(world, worker) == ("working", False)


async def test_a_server_without_sessions_is_not_patient(world: World, job: LostSessionJob) -> None:
    await job.run_once()
    worker = await world.join("w")
    world.clock.advance(ALONE + 1)
    await job.run_once()
    assert await status(world, worker) == ("lost", True)


async def test_a_round_is_bounded_and_says_that_there_is_more(world: World, job: LostSessionJob) -> None:
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


async def test_a_name_is_given_up_by_one_whose_process_is_gone(
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


async def test_without_a_process_only_upkeep_says_that_a_name_is_free(world: World, job: LostSessionJob) -> None:
    await job.run_once()
    worker = await world.join("w")
    world.clock.advance(ALONE + 1)
    with pytest.raises(errors.NameTaken):
        await world.join("w")
    await job.run_once()
    await world.join("w")
    assert await status(world, worker) == ("lost", True)
