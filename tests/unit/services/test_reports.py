"""Reports: they move the task, set the status, and the coordinator hears each in the same moment."""

from __future__ import annotations

from typing import Any

import pytest

from maestro.core import errors
from maestro.domain.documents import ReportKind
from maestro.domain.messages import MessageType
from maestro.operations import sessions as ops
from maestro.operations.task_shapes import BlockTask, CompleteTask, ReasonedTask, ReportTask, StartTask
from maestro.services.tasks import moves
from maestro.services.tasks import session_report as session_reports

World = Any
PROGRESS, COMPLETE, BLOCKED, ERROR = ReportKind


async def report(world: World, by: Any, kind: ReportKind, text: str = "said") -> ops.ReportedSession:
    made: ops.ReportedSession = await world.do(
        session_reports.report_work, ops.ReportSession(kind=kind, text=text), by=by
    )
    return made


@pytest.mark.parametrize(
    ("kind", "task", "status", "words", "priority"),
    [
        (PROGRESS, "in_progress", "working", "goes on with", "normal"),
        (COMPLETE, "completed", "completed", "has completed", "normal"),
        (BLOCKED, "blocked", "needs_input", "is blocked on", "high"),
        (ERROR, "failed", "failed", "reports an error on", "high"),
    ],
)
async def test_a_report_moves_the_one_task_and_its_coordinator_hears_it_once(
    world: World, kind: ReportKind, task: str, status: str, words: str, priority: str
) -> None:
    boss = await world.boss("boss")
    worker = await world.join("w", under=boss)
    held = await world.task(held_by=worker)
    made = await report(world, worker, kind, "the pool is dry")
    assert made.task is not None and (made.task.ref, made.task.status) == ("vc#1", task)
    assert (made.status, made.ended_at) == (status, None)
    (notice,) = await world.unread(boss)
    assert (notice.subject, notice.body) == (f"w {words} vc#1", "the pool is dry")
    assert (notice.type, notice.priority, notice.task_id) == (MessageType.NOTIFICATION, priority, held.id)
    assert (notice.sender.kind, notice.sender.id) == ("session", worker.name)


async def test_several_held_tasks_are_a_conflict_that_names_the_way_out(world: World) -> None:
    worker = await world.join("w")
    for _ in range(2):
        await world.task(held_by=worker)
    with pytest.raises(errors.Conflict) as refused:
        await report(world, worker, COMPLETE)
    assert refused.value.data["held"] == ["vc#1", "vc#2"] and "maestro task report" in refused.value.hint
    assert (await world.session(worker)).status == "working"


async def test_done_is_whoever_holds_nothing_more(world: World) -> None:
    boss = await world.boss("boss")
    worker = await world.join("w", under=boss)
    tasks = [await world.task(held_by=worker) for _ in range(2)]
    for task, status in zip(tasks, ("working", "completed"), strict=True):
        await world.do(moves.report_task, ReportTask(kind=COMPLETE, id=task.id, text="done"), by=worker)
        assert (await world.session(worker)).status == status
    assert await world.subjects(boss) == ["w has completed vc#1", "w has completed vc#2"]


async def test_without_a_task_a_report_is_about_the_session(world: World) -> None:
    boss = await world.boss("boss")
    worker = await world.join("w", under=boss)
    made = await report(world, worker, PROGRESS, "reading")
    assert made.task is None and made.status == "working"
    assert (await report(world, worker, COMPLETE)).status == "completed"
    assert await world.subjects(boss) == ["w goes on", "w has completed"]
    (said, _) = [event for event in await world.log() if event.kind == "session.reported"]
    assert said.data == {"kind": "progress", "text": "reading"}


async def test_work_after_it_was_done_makes_it_working_again(world: World) -> None:
    worker = await world.join("w")
    await report(world, worker, COMPLETE)
    await world.task(held_by=worker)
    assert (await world.session(worker)).status == "working"


async def test_what_the_person_hears_of_sessions_without_a_coordinator(world: World) -> None:
    worker = await world.join("w")
    for kind in (PROGRESS, COMPLETE):
        await report(world, worker, kind)
    assert await world.unread() == []
    for kind in (BLOCKED, ERROR):
        await report(world, worker, kind)
    assert await world.subjects() == ["w is blocked", "w reports an error"]


async def test_a_report_for_a_coordinator_that_is_gone_goes_up(world: World) -> None:
    top = await world.boss("top")
    boss = await world.boss("boss", under=top)
    worker = await world.join("w", under=boss)
    await world.end(boss)
    await world.read(top)
    await report(world, worker, PROGRESS)
    (notice,) = await world.unread(top)
    assert notice.subject == "w goes on" and notice.reason == "boss has ended (stopped); the message goes to top"


async def test_moves_say_what_a_report_would(world: World) -> None:
    boss = await world.boss("boss")
    worker = await world.join("w", under=boss)
    one, two, three = [await world.task(held_by=worker) for _ in range(3)]
    await world.do(moves.block_task, BlockTask(id=one.id, reason="no port"), by=worker)
    await world.do(moves.fail_task, ReasonedTask(id=two.id, reason="broken"), by=worker)
    await world.do(moves.complete_task, CompleteTask(id=three.id, summary="all pass"), by=worker)
    heard = {message.subject: message.body for message in await world.unread(boss)}
    assert heard == {
        "w is blocked on vc#1": "no port",
        "w reports an error on vc#2": "broken",
        "w has completed vc#3": "all pass",
    }


@pytest.mark.parametrize("gates", [[], ["make test"]])
async def test_what_a_coordinator_does_to_a_workers_task_is_no_report_of_its_own(
    world: World, gates: list[str]
) -> None:
    top = await world.boss("top")
    boss = await world.boss("boss", under=top)
    worker = await world.join("w", under=boss)
    passed, failed, blocked = [await world.task(gates=gates, held_by=worker) for _ in range(3)]
    if gates:
        await world.do(moves.complete_task, CompleteTask(id=passed.id), by=worker)
    await world.do(moves.complete_task, CompleteTask(id=passed.id), by=boss)
    await world.do(moves.fail_task, ReasonedTask(id=failed.id, reason="wrong"), by=boss)
    await world.do(moves.block_task, BlockTask(id=blocked.id, reason="later"), by=boss)
    assert (await world.session(boss)).status == "idle"
    assert await world.unread(top) == []


async def test_a_coordinators_report_on_a_workers_task_is_heard_but_says_nothing_of_itself(world: World) -> None:
    top = await world.boss("top")
    boss = await world.boss("boss", under=top)
    worker = await world.join("w", under=boss)
    task = await world.task(held_by=worker)
    await world.do(moves.report_task, ReportTask(kind=COMPLETE, id=task.id, text="done"), by=boss)
    assert (await world.session(boss)).status == "idle"
    assert await world.subjects(top) == ["boss has completed vc#1"]


async def test_a_blocked_parent_whose_children_are_done_is_done_by_its_word(world: World) -> None:
    worker = await world.join("w")
    parent = await world.task(held_by=worker)
    await world.do(moves.block_task, BlockTask(id=parent.id, reason="the children"), by=worker)
    child = await world.task(parent=parent.id)
    await world.do(moves.start_task, StartTask(id=child.id))
    await world.do(moves.complete_task, CompleteTask(id=child.id))
    told = await world.do(moves.report_task, ReportTask(kind=COMPLETE, id=parent.id, text="done"), by=worker)
    assert told.status == "completed"
