"""Only the owners of a run, the holder of a task and the person end the tasks of the run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.unit.services.conftest import VC, World

from maestro.core import errors
from maestro.domain.callers import Caller
from maestro.domain.documents import ReportKind
from maestro.domain.runs import RunStrategy
from maestro.domain.tasks import TaskStatus
from maestro.operations import runs as run_ops
from maestro.operations import sessions as session_ops
from maestro.operations import task_shapes as ops
from maestro.services.runs import control as runs
from maestro.services.sessions import adoption
from maestro.services.tasks import editing as tasks
from maestro.services.tasks import moves

ENDS: dict[str, tuple[Callable[..., Any], Callable[[str], Any]]] = {
    "cancel": (moves.cancel_task, lambda id: ops.ReasonedTask(id=id)),
    "fail": (moves.fail_task, lambda id: ops.ReasonedTask(id=id)),
    "report error": (moves.report_task, lambda id: ops.ReportTask(id=id, kind=ReportKind.ERROR, text="x")),
    "delete": (tasks.delete_task, lambda id: ops.OneTask(id=id)),
}


async def end(world: World, how: str, task_id: str, by: Caller) -> Any:
    service, request = ENDS[how]
    return await world.do(service, request(task_id), by=by)


async def run_task(world: World, by: Caller | None, *, strategy: RunStrategy = RunStrategy.DAG, **fields: Any) -> Any:
    task = await world.task(**fields)
    request = run_ops.StartRun(project=VC.id, task=task.id, tool="claude", strategy=strategy, attempts=2)
    await world.do(runs.start_run, request, by=by)
    return task


async def status(world: World, task_id: str) -> TaskStatus | None:
    found = await world.store.read(lambda tx: tx.tasks.get(task_id))
    return found.status if found else None


@pytest.mark.parametrize("how", ENDS)
async def test_a_coordinator_cannot_end_a_task_of_the_run_of_another_caller(world: World, how: str) -> None:
    boss, rival, worker = await world.boss("boss"), await world.boss("rival"), await world.join("w")
    for starter in (boss, None):
        task = await run_task(world, starter, held_by=worker)
        with pytest.raises(errors.NotPermitted, match="belongs to run_"):
            await end(world, how, task.id, rival)
        assert await status(world, task.id) is TaskStatus.IN_PROGRESS


@pytest.mark.parametrize("how", ENDS)
async def test_the_starter_and_the_sessions_above_end_tasks_of_the_run(world: World, how: str) -> None:
    top = await world.boss("top")
    boss, worker = await world.boss("boss", under=top), await world.join("w")
    for caller in (boss, top, world.dana):
        task = await run_task(world, boss, held_by=worker)
        await end(world, how, task.id, caller)
        assert await status(world, task.id) in (TaskStatus.CANCELLED, TaskStatus.FAILED, None)


@pytest.mark.parametrize("how", ["fail", "report error"])
async def test_the_holder_of_a_task_of_a_run_reports_the_failure_of_the_task(world: World, how: str) -> None:
    boss, worker = await world.boss("boss"), await world.join("w")
    task = await run_task(world, boss, held_by=worker)
    await end(world, how, task.id, worker)
    assert await status(world, task.id) is TaskStatus.FAILED


async def test_tasks_below_the_task_of_a_run_belong_to_the_run(world: World) -> None:
    boss, rival = await world.boss("boss"), await world.boss("rival")
    top = await world.task()
    below = await world.task(parent=top.id)
    await world.do(runs.start_run, run_ops.StartRun(project=VC.id, task=top.id, tool="claude"), by=boss)
    with pytest.raises(errors.NotPermitted):
        await end(world, "cancel", below.id, rival)
    await end(world, "cancel", below.id, boss)


async def test_the_attempts_of_a_race_belong_to_the_run(world: World) -> None:
    boss, rival = await world.boss("boss"), await world.boss("rival")
    task = await run_task(world, boss, strategy=RunStrategy.RACE)
    attempts = await world.store.read(lambda tx: tx.tasks.list_children(task.id, limit=10))
    assert len(attempts) == 2
    for attempt in attempts:
        with pytest.raises(errors.NotPermitted):
            await end(world, "cancel", attempt.id, rival)


async def test_the_successor_of_the_starter_ends_tasks_of_the_run(world: World) -> None:
    boss, heir, worker = await world.boss("boss"), await world.boss("heir"), await world.join("w")
    task = await run_task(world, boss, held_by=worker)
    await world.join("child", under=boss)
    await world.end(boss, "lost")
    with pytest.raises(errors.NotPermitted):
        await end(world, "cancel", task.id, heir)
    await world.do(adoption.adopt_sessions, session_ops.AdoptSessions(ids=[boss.name], by=heir.name))
    await end(world, "cancel", task.id, heir)


async def test_every_coordinator_of_the_project_ends_a_task_without_a_live_run(world: World) -> None:
    rival = await world.boss("rival")
    task = await world.task()
    await end(world, "cancel", task.id, rival)
    assert await status(world, task.id) is TaskStatus.CANCELLED
