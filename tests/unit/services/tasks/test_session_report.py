"""A report of a session moves the only task that the session holds, or is about the session itself."""

from __future__ import annotations

from typing import Any

import pytest

from maestro.core import errors
from maestro.domain.documents import ReportKind
from maestro.domain.messages import MessageType
from maestro.operations import sessions as ops
from maestro.services.tasks import moves
from maestro.services.tasks.session_report import report_work

World = Any
Board = Any
PROGRESS, COMPLETE, BLOCKED, ERROR = ReportKind


async def report(world: World, by: Any, kind: ReportKind, text: str = "said") -> ops.ReportedSession:
    reported: ops.ReportedSession = await world.do(report_work, ops.ReportSession(kind=kind, text=text), by=by)
    return reported


@pytest.mark.parametrize(
    ("kind", "task", "status", "phrase", "priority"),
    [
        (PROGRESS, "in_progress", "working", "goes on with", "normal"),
        (COMPLETE, "completed", "completed", "has completed", "normal"),
        (BLOCKED, "blocked", "needs_input", "is blocked on", "high"),
        (ERROR, "failed", "failed", "reports an error on", "high"),
    ],
)
async def test_a_report_moves_the_only_held_task_and_notifies_the_coordinator_once(
    world: World, kind: ReportKind, task: str, status: str, phrase: str, priority: str
) -> None:
    boss = await world.boss("boss")
    worker = await world.join("w", under=boss)
    held = await world.task(held_by=worker)
    reported = await report(world, worker, kind, "the pool is dry")
    assert reported.task is not None and (reported.task.ref, reported.task.status) == ("vc#1", task)
    assert (reported.status, reported.ended_at) == (status, None)
    (notice,) = await world.unread(boss)
    assert (notice.subject, notice.body) == (f"w {phrase} vc#1", "the pool is dry")
    assert (notice.type, notice.priority, notice.task_id) == (MessageType.NOTIFICATION, priority, held.id)
    assert (notice.sender.kind, notice.sender.id) == ("session", worker.name)


async def test_a_report_of_a_session_that_holds_several_tasks_must_name_a_task(world: World) -> None:
    worker = await world.join("w")
    for _ in range(2):
        await world.task(held_by=worker)
    with pytest.raises(errors.Conflict) as refused:
        await report(world, worker, COMPLETE)
    assert refused.value.data["held"] == ["vc#1", "vc#2"] and "maestro task report" in refused.value.hint
    assert (await world.session(worker)).status == "working"


async def test_a_report_ignores_a_held_task_in_review(world: World, board: Board) -> None:
    worker = await world.join("w")
    reviewed = await board.create(gates=["make test"], held_by=worker)
    await board.call(moves.complete_task, reviewed, by=worker)
    await board.create(held_by=worker)
    reported = await report(world, worker, PROGRESS)
    assert reported.task is not None and reported.task.ref == "vc#2"


async def test_a_report_of_a_session_that_holds_no_task_is_about_the_session(world: World) -> None:
    boss = await world.boss("boss")
    worker = await world.join("w", under=boss)
    reported = await report(world, worker, PROGRESS, "reading")
    assert reported.task is None and reported.status == "working"
    assert (await report(world, worker, COMPLETE)).status == "completed"
    assert await world.subjects(boss) == ["w goes on", "w has completed"]
    (first, _) = [event for event in await world.log() if event.kind == "session.reported"]
    assert first.data == {"kind": "progress", "text": "reading"}


async def test_the_answer_to_a_report_names_the_tasks_that_the_report_unblocked(world: World) -> None:
    worker = await world.join("w")
    held = await world.task(held_by=worker)
    await world.task(depends_on=[held.id])
    reported = await report(world, worker, COMPLETE)
    assert reported.task is not None and reported.task.unblocked == ["vc#2"]
