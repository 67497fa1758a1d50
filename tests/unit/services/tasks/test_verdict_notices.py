"""A verdict on a task goes to the coordinator of its holder, to its creator or to the person."""

from __future__ import annotations

from typing import Any

import pytest

from maestro.services.tasks import verdict_notices

World = Any
Board = Any


async def report(world: World, task_id: str, holder: Any, *, passed: bool) -> None:
    """Report a verdict on a task to its recipients."""

    def write(tx: Any) -> None:
        task = tx.tasks.get(task_id)
        session = tx.sessions.get(holder.session_id) if holder is not None else None
        if passed:
            verdict_notices.report_passed(tx, task, session)
        else:
            verdict_notices.report_failed(tx, task, session, problem="gate make test", reason="two tests fail")

    await world.store.write(write)


async def notices(world: World, caller: Any = None) -> list[tuple[str, str]]:
    return [(message.subject, message.priority.value) for message in await world.unread(caller)]


async def test_the_coordinator_of_the_holder_gets_both_verdicts(world: World, board: Board) -> None:
    boss = await world.boss("boss")
    worker = await world.join("w", under=boss)
    task = await board.create(held_by=worker)
    await report(world, task, worker, passed=False)
    await report(world, task, worker, passed=True)
    failed, passed = await world.unread(boss)
    assert (failed.subject, failed.priority) == ("vc#1 did not pass: gate make test", "high")
    assert (failed.body, failed.task_id) == ("two tests fail", task)
    assert (passed.subject, passed.priority, passed.task_id) == ("vc#1 is completed", "normal", task)
    assert await notices(world) == []


async def test_the_person_gets_only_the_failure_of_a_holder_without_a_coordinator(world: World, board: Board) -> None:
    worker = await world.join("w")
    task = await board.create(held_by=worker)
    await report(world, task, worker, passed=True)
    assert await notices(world) == []
    await report(world, task, worker, passed=False)
    assert await notices(world) == [("vc#1 did not pass: gate make test", "high")]


@pytest.mark.parametrize(
    ("passed", "notice"),
    [(True, ("vc#1 is completed", "normal")), (False, ("vc#1 did not pass: gate make test", "high"))],
)
async def test_the_creator_of_a_task_without_a_holder_gets_the_verdict(
    world: World, board: Board, passed: bool, notice: tuple[str, str]
) -> None:
    creator = await world.boss("creator")
    task = await board.create(by=creator)
    await report(world, task, None, passed=passed)
    assert await notices(world, creator) == [notice]
    assert await notices(world) == []


async def test_the_person_gets_the_failure_when_the_creator_has_ended(world: World, board: Board) -> None:
    creator = await world.boss("creator")
    task = await board.create(by=creator)
    await world.end(creator)
    await report(world, task, None, passed=True)
    assert await notices(world) == []
    await report(world, task, None, passed=False)
    assert await notices(world) == [("vc#1 did not pass: gate make test", "high")]


async def test_the_person_gets_a_notice_about_the_completion_of_a_task_that_the_person_holds(
    world: World, board: Board
) -> None:
    held = await board.create(held_by=world.dana)
    await report(world, held, None, passed=True)
    assert await notices(world) == [("vc#1 is completed", "normal")]
