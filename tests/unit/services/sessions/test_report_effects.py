"""A report changes the status of the reporting session and notifies its coordinator or the person."""

from __future__ import annotations

from typing import Any

import pytest

from maestro.domain.documents import ReportKind
from maestro.domain.sessions import StatusSource
from maestro.operations.sessions import ReportSession, SendHeartbeat, SessionStatus
from maestro.operations.task_shapes import CompleteTask, ReportTask, StartTask
from maestro.services.sessions import lifecycle, report_effects
from maestro.services.tasks import moves
from maestro.services.tasks.session_report import report_work

World = Any
PROGRESS, COMPLETE, BLOCKED, ERROR = ReportKind


async def report(world: World, by: Any, kind: ReportKind, text: str = "said") -> None:
    await world.do(report_work, ReportSession(kind=kind, text=text), by=by)


async def report_task(world: World, by: Any, kind: ReportKind, task: Any) -> None:
    await world.do(moves.report_task, ReportTask(kind=kind, id=task.id, text="said"), by=by)


async def give_verdict(world: World, worker: Any, *, passed: bool) -> str:
    """Apply a verdict of the gates to the session, and return the status of the session."""

    def write(tx: Any) -> None:
        report_effects.apply_review(tx, tx.sessions.get(worker.session_id), passed=passed)

    await world.store.write(write)
    return str((await world.session(worker)).status)


@pytest.mark.parametrize("kind", [COMPLETE, ERROR])
async def test_a_session_is_finished_only_when_it_holds_no_more_tasks(world: World, kind: ReportKind) -> None:
    worker = await world.join("w")
    tasks = [await world.task(held_by=worker) for _ in range(2)]
    final = "completed" if kind is COMPLETE else "failed"
    for task, status in zip(tasks, ("working", final), strict=True):
        await report_task(world, worker, kind, task)
        assert (await world.session(worker)).status == status


async def test_the_coordinator_gets_a_notice_for_each_completed_task(world: World) -> None:
    boss = await world.boss("boss")
    worker = await world.join("w", under=boss)
    tasks = [await world.task(held_by=worker) for _ in range(2)]
    for task in tasks:
        await report_task(world, worker, COMPLETE, task)
    assert await world.subjects(boss) == ["w has completed vc#1", "w has completed vc#2"]


async def test_a_new_task_makes_a_completed_session_work_again(world: World) -> None:
    worker = await world.join("w")
    await report(world, worker, COMPLETE)
    await world.task(held_by=worker)
    assert (await world.session(worker)).status == "working"


async def test_the_person_gets_only_urgent_reports_of_sessions_without_a_coordinator(world: World) -> None:
    worker = await world.join("w")
    for kind in (PROGRESS, COMPLETE):
        await report(world, worker, kind)
    assert await world.unread() == []
    for kind in (BLOCKED, ERROR):
        await report(world, worker, kind)
    assert await world.subjects() == ["w is blocked", "w reports an error"]


async def test_a_report_to_an_ended_coordinator_goes_to_the_coordinator_above(world: World) -> None:
    top = await world.boss("top")
    boss = await world.boss("boss", under=top)
    worker = await world.join("w", under=boss)
    await world.end(boss)
    await world.read(top)
    await report(world, worker, PROGRESS)
    (notice,) = await world.unread(top)
    assert notice.subject == "w goes on" and notice.reason == "boss has ended (stopped); the message goes to top"


async def test_a_report_of_a_coordinator_on_a_task_of_a_worker_keeps_the_status_of_the_coordinator(
    world: World,
) -> None:
    top = await world.boss("top")
    boss = await world.boss("boss", under=top)
    worker = await world.join("w", under=boss)
    task = await world.task(held_by=worker)
    await report_task(world, boss, COMPLETE, task)
    assert (await world.session(boss)).status == "idle"
    assert await world.subjects(top) == ["boss has completed vc#1"]


async def test_a_session_that_completes_a_task_with_gates_is_idle_until_the_verdict(world: World) -> None:
    boss = await world.boss("boss")
    worker = await world.join("w", under=boss)
    task = await world.task(held_by=worker, gates=["make test"])
    await report_task(world, worker, COMPLETE, task)
    assert await world.subjects(boss) == ["w hands in vc#1; its gates run"]
    assert (await world.session(worker)).status == "idle"


async def test_a_verdict_completes_the_session_or_puts_the_session_back_to_work(world: World) -> None:
    boss = await world.boss("boss")
    worker = await world.join("w", under=boss)
    task = await world.task(held_by=worker, gates=["make test"])
    await report_task(world, worker, COMPLETE, task)
    assert await give_verdict(world, worker, passed=False) == "working"
    await world.do(moves.complete_task, CompleteTask(id=task.id))  # the person accepts the work
    await world.read(boss)
    assert await give_verdict(world, worker, passed=True) == "completed"
    assert (await world.session(worker)).status_source is StatusSource.REPORT
    assert await world.subjects(boss) == [], "another part of the server posts the notice about the verdict"


async def test_a_session_with_another_task_is_working_after_a_passed_review(world: World) -> None:
    worker = await world.join("w")
    handed_in = await world.task(held_by=worker, gates=["make test"])
    await report_task(world, worker, COMPLETE, handed_in)
    await world.do(moves.complete_task, CompleteTask(id=handed_in.id))
    await world.task(held_by=worker)
    assert await give_verdict(world, worker, passed=True) == "working"


async def test_a_verdict_changes_neither_an_ended_session_nor_a_session_that_needs_input(world: World) -> None:
    ended, asking = await world.join("ended"), await world.join("asking")
    await world.end(ended)
    await world.do(lifecycle.record_heartbeat, SendHeartbeat(status=SessionStatus.NEEDS_INPUT), by=asking)
    assert await give_verdict(world, ended, passed=True) == "stopped"
    assert await give_verdict(world, asking, passed=True) == "needs_input"


async def test_a_started_task_sets_the_status_of_an_idle_session_once(world: World) -> None:
    boss = await world.boss("boss")
    assert (await world.session(boss)).status == "idle"
    for task in [await world.task() for _ in range(2)]:
        await world.do(moves.start_task, StartTask(id=task.id), by=boss)
    changes = [event for event in await world.log() if event.kind == "session.status_changed"]
    assert [(event.subject, event.data["status"]) for event in changes] == [(boss.session_id, "working")]
