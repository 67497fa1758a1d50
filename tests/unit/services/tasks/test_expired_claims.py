"""A claim expires at the end of its lease, but not because of a sleep of the machine or a time without a server."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import Awaitable, Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from maestro.core import errors, limits
from maestro.domain.callers import Caller
from maestro.operations import sessions, tasks
from maestro.operations.task_shapes import CreateTask, OneTask, StartTask
from maestro.server.app import Server
from maestro.services.sessions import lifecycle
from maestro.services.tasks import moves
from maestro.services.tasks.expired_claims import ClaimExpiryJob
from maestro.testing.clock import FakeClock

World = Any
Board = Any
Join = Callable[..., Awaitable[Caller]]


@pytest.fixture
async def job(world: World) -> ClaimExpiryJob:
    """Return a job after its first round, because the first round after a start extends all claims."""
    made = ClaimExpiryJob(world.store, clock=world.clock)
    await made.run_once()
    return made


async def claim(world: World, board: Board, *, name: str = "w", seconds: int = 10) -> tuple[Caller, str]:
    """Let a new session claim a new task, and return the session and the id of the task."""
    worker = await world.join(name)
    task = await board.create()
    await board.call(moves.start_task, task, by=worker, lease=seconds * 1000)
    return worker, task


async def send_heartbeat(world: World, worker: Caller) -> int:
    """Send a heartbeat, and return the number of claims that the heartbeat renewed."""
    answer = await world.do(lifecycle.record_heartbeat, sessions.SendHeartbeat(), by=worker)
    return int(answer.renewed)


@contextlib.contextmanager
def failing_claims(database: Path) -> Iterator[None]:
    """Make the database refuse every change of a task, as a full disk does."""
    with contextlib.closing(sqlite3.connect(database, isolation_level=None)) as connection:
        refuse = "BEGIN SELECT RAISE(ABORT, 'no room'); END"
        connection.execute(f"CREATE TRIGGER no_room BEFORE UPDATE ON tasks {refuse}")
        yield
        connection.execute("DROP TRIGGER no_room")


async def claim_state(board: Board, task_id: str) -> tuple[str, str | None]:
    task = await board.show(task_id)
    return task.status.value, task.holder


async def test_a_claim_expires_at_the_end_of_its_lease(world: World, board: Board, job: ClaimExpiryJob) -> None:
    _, task = await claim(world, board)
    assert await job.run_once() == world.clock.now() + timedelta(seconds=10)
    world.clock.advance(11)
    assert await job.run_once() is None
    assert await claim_state(board, task) == ("todo", None)
    assert [event.kind for event in await world.log()][-2:] == ["task.claim_expired", "task.ready"]


async def test_the_next_round_is_due_at_the_end_of_the_next_lease(
    world: World, board: Board, job: ClaimExpiryJob
) -> None:
    _, first = await claim(world, board, name="first", seconds=10)
    started = world.clock.now()
    _, second = await claim(world, board, name="second", seconds=30)
    world.clock.advance(15)
    due = await job.run_once()
    assert due is not None and started + timedelta(seconds=30) <= due < started + timedelta(seconds=31)
    assert [(await claim_state(board, task))[0] for task in (first, second)] == ["todo", "in_progress"]


async def test_the_claim_of_a_blocked_task_expires_and_the_task_stays_blocked(
    world: World, board: Board, job: ClaimExpiryJob
) -> None:
    worker, task = await claim(world, board)
    await board.call(moves.block_task, task, by=worker, reason="no key")
    world.clock.advance(11)
    await job.run_once()
    assert await claim_state(board, task) == ("blocked", None)


async def test_heartbeats_keep_a_claim(world: World, board: Board, job: ClaimExpiryJob) -> None:
    worker, task = await claim(world, board)
    for _ in range(5):
        world.clock.advance(8)
        assert await send_heartbeat(world, worker) == 1
        await job.run_once()
    assert await claim_state(board, task) == ("in_progress", worker.session_id)
    world.clock.advance(11)
    assert await send_heartbeat(world, worker) == 0, "an expired claim cannot be renewed"


async def test_a_heartbeat_at_the_end_of_the_lease_does_not_renew_the_claim(
    world: World, board: Board, job: ClaimExpiryJob
) -> None:
    worker, task = await claim(world, board, seconds=60)
    world.clock.advance(60)
    assert await send_heartbeat(world, worker) == 0
    await job.run_once()
    assert await claim_state(board, task) == ("todo", None)


async def test_a_claim_expires_although_another_session_claimed_a_task_and_its_parent(
    world: World, board: Board, job: ClaimExpiryJob, entangled: tuple[Caller, str, str]
) -> None:
    _, task = await claim(world, board, name="w2")
    world.clock.advance(100_000)
    await job.run_once()
    assert (await claim_state(board, task))[1] is None


@pytest.mark.parametrize("seconds", [3600, -3600], ids=["slept, or set forward", "set back"])
async def test_a_claim_continues_for_a_grace_period_after_a_jump_of_the_clock(
    server: Server, dana: Caller, vc: str, join: Join, clock: FakeClock, seconds: int
) -> None:
    async def state() -> tuple[str, str | None]:
        task = await server.call(tasks.SHOW, OneTask(id="vc#1"), caller=dana)
        return task.status.value, task.holder

    await server.call(tasks.CREATE, CreateTask(project=vc, title="a"), caller=dana)
    worker, other = await join("w"), await join("other")
    await server.call(tasks.START, StartTask(id="#1", lease=10_000), caller=worker)
    clock.jump(seconds)
    with pytest.raises(errors.AlreadyHeld):
        await server.call(tasks.START, StartTask(id="#1"), caller=other)
    clock.advance(limits.sleep_grace_seconds - 1)
    await server.parts.tasks.claim_expiry.run_once()
    assert await state() == ("in_progress", worker.session_id)
    clock.advance(2 if seconds > 0 else 3600)
    await server.parts.tasks.claim_expiry.run_once()
    assert await state() == ("todo", None)


async def test_a_holder_renews_its_claim_after_a_sleep_of_the_machine(
    server: Server, dana: Caller, vc: str, join: Join, clock: FakeClock
) -> None:
    await server.call(tasks.CREATE, CreateTask(project=vc, title="a"), caller=dana)
    worker = await join("w")
    await server.call(tasks.START, StartTask(id="#1", lease=10_000), caller=worker)
    clock.jump(3600)
    assert (await server.call(sessions.HEARTBEAT, sessions.SendHeartbeat(), caller=worker)).renewed == 1


async def test_a_new_server_extends_all_claims_before_any_claim_expires(world: World, board: Board) -> None:
    worker, task = await claim(world, board)
    world.clock.advance(3600)
    job = ClaimExpiryJob(world.store, clock=world.clock)
    assert await job.run_once() == world.clock.now() + timedelta(seconds=limits.sleep_grace_seconds)
    assert await claim_state(board, task) == ("in_progress", worker.session_id)
    world.clock.advance(limits.sleep_grace_seconds)
    await job.run_once()
    assert await claim_state(board, task) == ("todo", None)


async def test_claims_are_extended_after_a_failure_of_the_storage(
    world: World, board: Board, job: ClaimExpiryJob, tmp_path: Path
) -> None:
    """Holders cannot renew claims while the disk is full, so no holder may lose a claim because of that time."""
    worker, task = await claim(world, board)
    world.clock.advance(11)
    with failing_claims(tmp_path / "maestro.db"), pytest.raises(errors.StorageFailed):
        await job.run_once()
    assert await job.run_once() == world.clock.now() + timedelta(seconds=limits.sleep_grace_seconds)
    assert await claim_state(board, task) == ("in_progress", worker.session_id)


async def test_the_running_server_expires_a_claim_without_a_request(
    server: Server, dana: Caller, vc: str, join: Join, clock: FakeClock
) -> None:
    await server.call(tasks.CREATE, CreateTask(project=vc, title="a"), caller=dana)
    worker = await join("w")
    with server.hub.subscribe([vc]) as subscription:
        await server.call(tasks.START, StartTask(id="#1", lease=5_000), caller=worker)
        clock.advance(6)
        server.background_jobs.nudge_job("expired-claims")
        async with asyncio.timeout(10):
            while "task.claim_expired" not in [event.kind for event in subscription.take_events()]:
                await subscription.wait_for_event()
