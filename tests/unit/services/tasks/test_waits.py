"""A wait for tasks ends at the wanted state, if the state is out of reach, at the timeout or with the session."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from maestro.core import errors
from maestro.operations import asks as ask_ops
from maestro.operations.task_shapes import TaskWaitUntil, WaitedTasks, WaitTasks
from maestro.services.asks import asks
from maestro.services.tasks import dependencies, moves
from maestro.services.tasks.waits import TaskWaits

World = Any
Board = Any
LONG_MILLISECONDS = 60_000  # no test waits this long


def start_wait(world: World, *ids: str, by: Any = None, **fields: Any) -> asyncio.Task[WaitedTasks]:
    values: dict[str, Any] = {"timeout": LONG_MILLISECONDS} | fields
    waits = TaskWaits(world.store, world.hub, world.presence)
    return asyncio.create_task(waits.wait_for_tasks(by or world.dana, WaitTasks(ids=list(ids), **values)))


async def wait_until_connected(world: World, caller: Any) -> None:
    """Wait until a wait of the session is subscribed to events."""
    async with asyncio.timeout(20):
        while caller.session_id not in world.presence.connected_sessions():
            await let_waits_read(world)


async def let_waits_read(world: World) -> None:
    """Give every woken wait the time to read the store again."""
    for _ in range(5):
        await world.store.read(lambda tx: tx.at)


async def test_a_wait_for_a_completed_task_ends_at_once(world: World, board: Board) -> None:
    task = await board.create()
    await board.complete(task)
    waited = await start_wait(world, task)
    assert waited.reached and [found.status for found in waited.tasks] == ["completed"]


async def test_a_wait_ends_when_all_tasks_are_completed(world: World, board: Board) -> None:
    worker = await world.join("w")
    first, second = await board.create(), await board.create()
    waiting = start_wait(world, first, second, by=worker)
    await wait_until_connected(world, worker)
    await board.complete(first)
    await let_waits_read(world)
    assert not waiting.done()
    await board.complete(second)
    assert (await waiting).reached
    assert world.presence.connected_sessions() == []


@pytest.mark.parametrize("until", ["completed", "ready"])
@pytest.mark.parametrize("end", [moves.fail_task, moves.cancel_task])
async def test_a_wait_ends_unreached_when_a_task_ends_without_completion(
    world: World, board: Board, end: Any, until: str
) -> None:
    worker = await world.join("w")
    blocker = await board.create()
    done, task = await board.create(), await board.create()
    await board.complete(done)
    await board.call(moves.start_task, task)
    await board.call(dependencies.change_dependencies, task, on=[blocker])
    await board.call(moves.block_task, task, reason="no key")
    waiting = start_wait(world, done, task, by=worker, until=TaskWaitUntil(until))
    await wait_until_connected(world, worker)
    await board.call(end, task)
    waited = await waiting
    assert not waited.reached


async def test_a_wait_for_a_ready_task_ends_when_its_blocker_completes(world: World, board: Board) -> None:
    worker = await world.join("w")
    blocker = await board.create()
    task = await board.create(depends_on=[blocker])
    waiting = start_wait(world, task, by=worker, until=TaskWaitUntil.READY)
    await wait_until_connected(world, worker)
    assert not waiting.done()
    await board.complete(blocker)
    waited = await waiting
    assert waited.reached and waited.tasks[0].ready


@pytest.mark.parametrize("move", [None, moves.complete_task])
async def test_a_started_or_completed_task_ends_a_wait_for_ready_at_once(
    world: World, board: Board, move: Any
) -> None:
    task = await board.create()
    await board.call(moves.start_task, task)
    if move is not None:
        await board.call(move, task)
    assert (await start_wait(world, task, until=TaskWaitUntil.READY)).reached


async def test_a_wait_for_any_change_ends_with_the_first_event_of_a_task(world: World, board: Board) -> None:
    worker = await world.join("w")
    task, unrelated = await board.create(), await board.create()
    waiting = start_wait(world, task, by=worker, until=TaskWaitUntil.ANY_CHANGE)
    await wait_until_connected(world, worker)
    await board.complete(unrelated)
    await let_waits_read(world)
    assert not waiting.done()
    await board.call(moves.start_task, task)
    waited = await waiting
    assert waited.reached and waited.tasks[0].status == "in_progress"


async def test_an_event_of_the_waiting_session_does_not_end_a_wait_for_any_change_of_a_task(
    world: World, board: Board
) -> None:
    worker = await world.join("w")
    waiting = start_wait(world, await board.create(), by=worker, until=TaskWaitUntil.ANY_CHANGE)
    await wait_until_connected(world, worker)
    await world.do(
        asks.create_ask, ask_ops.CreateAsk(title="Which port?"), by=worker
    )  # changes the status of the session
    await let_waits_read(world)
    assert not waiting.done()
    waiting.cancel()


async def test_the_timeout_of_a_wait_names_the_present_statuses_of_the_tasks(world: World, board: Board) -> None:
    task = await board.create()
    with pytest.raises(errors.TimedOut, match=r"did not reach completed within 0 s: vc#1 is todo") as timed_out:
        await start_wait(world, task, timeout=0)
    assert timed_out.value.data["tasks"] == [{"id": task, "ref": "vc#1", "status": "todo"}]


async def test_a_wait_for_an_unknown_task_is_refused(world: World) -> None:
    with pytest.raises(errors.NotFound):
        await start_wait(world, "vc#99")


async def test_the_end_of_the_waiting_session_ends_its_wait(world: World, board: Board) -> None:
    worker = await world.join("w")
    waiting = start_wait(world, await board.create(), by=worker)
    await wait_until_connected(world, worker)
    assert not waiting.done()
    await world.end(worker)
    async with asyncio.timeout(5):
        with pytest.raises(errors.NotAuthenticated):
            await waiting


async def test_a_wait_of_a_session_of_another_project_returns_only_the_outline_of_a_task(
    world: World, board: Board
) -> None:
    stranger = await world.join("stranger", project="other")
    task = await board.create(description="secret")
    await board.complete(task)
    waited = await start_wait(world, task, by=stranger)
    assert (waited.tasks[0].title, waited.tasks[0].description) == ("t", "")
