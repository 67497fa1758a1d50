"""A run names blocked tasks, holders outside of the run and blockers outside of the run as reasons to wait."""

from __future__ import annotations

from typing import Any

import pytest

from maestro.core import limits
from maestro.domain.runs import Attempt, Run, TaskAttempts
from maestro.operations.task_shapes import BlockTask, ReasonedTask, StartTask
from maestro.services.runs import wait_reasons
from maestro.services.tasks import moves
from maestro.testing.factories import make_run

World = Any


async def reasons(world: World, run: Run, *task_ids: str, attempts: list[Attempt] | None = None) -> tuple[str, str]:
    def read(tx: Any) -> tuple[str, str]:
        standings = [TaskAttempts(tx.tasks.get(task_id), attempts or []) for task_id in task_ids]
        return wait_reasons.waiting_reasons(tx, run, standings)

    found: tuple[str, str] = await world.store.read(read)
    return found


async def test_a_blocked_task_is_named_with_its_reason(world: World) -> None:
    task = await world.task()
    await world.do(moves.block_task, BlockTask(id=task.id, reason="no key"))
    assert await reasons(world, make_run(task.id), task.id) == ("vc#1 is blocked: no key.", "")


async def test_a_holder_outside_of_the_run_is_named(world: World) -> None:
    worker = await world.join("w")
    by_session, by_person = await world.task(held_by=worker), await world.task(held_by=world.dana)
    waits, stuck = await reasons(world, make_run(by_session.id), by_session.id, by_person.id)
    assert (waits, stuck) == ("vc#1 is held by w. vc#2 is held by dana.", "")


async def test_a_holder_that_works_for_the_run_is_no_reason_to_wait(world: World) -> None:
    worker = await world.join("w")
    task = await world.task(held_by=worker)
    run = make_run(task.id)
    attempt = Attempt(
        run_id=run.id,
        task_id=task.id,
        number=1,
        session_id=worker.name,
        outcome=None,
        started_at=world.clock.now(),
        ended_at=None,
    )
    assert await reasons(world, run, task.id, attempts=[attempt]) == ("", "")


async def test_only_blockers_outside_of_the_run_are_named_as_reasons_to_wait(world: World) -> None:
    root, outside = await world.task(), await world.task()
    inside = await world.task(parent=root.id)
    task = await world.task(parent=root.id, depends_on=[outside.id, inside.id])
    assert await reasons(world, make_run(root.id), task.id) == ("vc#4 waits on vc#2 (todo).", "")


@pytest.mark.parametrize(("end", "status"), [(moves.fail_task, "failed"), (moves.cancel_task, "cancelled")])
async def test_a_blocker_outside_of_the_run_that_ended_without_completion_is_named_separately(
    world: World, end: Any, status: str
) -> None:
    outside = await world.task()
    task = await world.task(depends_on=[outside.id])
    await world.do(moves.start_task, StartTask(id=outside.id))
    await world.do(end, ReasonedTask(id=outside.id))
    assert await reasons(world, make_run(task.id), task.id) == ("", f"vc#2 waits on vc#1 ({status}).")


async def test_at_most_five_reasons_to_wait_are_named(world: World) -> None:
    tasks = [await world.task() for _ in range(7)]
    for task in tasks:
        await world.do(moves.block_task, BlockTask(id=task.id, reason="x"))
    waits, _ = await reasons(world, make_run(tasks[0].id), *(task.id for task in tasks))
    assert waits.count("is blocked") == 5


async def test_a_long_reason_is_cut_to_the_length_of_a_note(world: World) -> None:
    task = await world.task()
    await world.do(moves.block_task, BlockTask(id=task.id, reason="x" * limits.reason_chars_max))
    waits, _ = await reasons(world, make_run(task.id), task.id)
    assert len(waits) <= limits.run_note_chars_max
