"""The end of a session releases its tasks, except for tasks in review."""

from __future__ import annotations

from typing import Any

from maestro.domain.callers import Caller
from maestro.services.tasks import moves

World = Any
Board = Any


async def test_the_end_of_a_session_releases_its_running_task(world: World, board: Board) -> None:
    worker = await world.join("w")
    task = await board.create(held_by=worker)
    await world.end(worker)
    released = await board.show(task)
    assert (released.status, released.holder, released.lease_until) == ("todo", None, None)
    assert released.ready and (await board.ready_events())[-1] == "vc#1"


async def test_a_blocked_task_of_an_ended_session_stays_blocked_without_a_holder(world: World, board: Board) -> None:
    worker = await world.join("w")
    task = await board.create(held_by=worker)
    await board.call(moves.block_task, task, by=worker, reason="no key")
    await world.end(worker)
    blocked = await board.show(task)
    assert (blocked.status, blocked.holder, blocked.reason) == ("blocked", None, "no key")


async def test_a_task_in_review_keeps_its_ended_holder(world: World, board: Board) -> None:
    """The gates run without the session, and their verdict names the holder."""
    worker = await world.join("w")
    task = await board.create(gates=["make test"], held_by=worker)
    await board.call(moves.complete_task, task, by=worker)
    await world.end(worker)
    reviewed = await board.show(task)
    assert (reviewed.status, reviewed.holder) == ("in_review", worker.session_id)


async def test_the_end_of_a_session_does_not_release_tasks_of_other_sessions(world: World, board: Board) -> None:
    worker, other = await world.join("w"), await world.join("other")
    task = await board.create(held_by=other)
    await board.create(held_by=worker)
    await world.end(worker)
    assert (await board.show(task)).holder == other.session_id


async def test_a_session_that_claimed_a_task_and_the_parent_of_the_task_can_end(
    world: World, board: Board, entangled: tuple[Caller, str, str]
) -> None:
    worker, lower, upper = entangled
    await world.end(worker)
    assert (await world.session(worker)).status == "stopped"
    assert await board.statuses(lower, upper) == ["completed", "completed"]
