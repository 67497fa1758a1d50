"""Callers read the timeline of a task, a session or a run in pages or as an export."""

from __future__ import annotations

import pytest
from tests.unit.services.conftest import OTHER, VC, World

from maestro.core import errors, limits
from maestro.domain.callers import Caller
from maestro.domain.documents import ReportKind
from maestro.domain.events import EventKind, NewEvent
from maestro.operations import runs as run_ops
from maestro.operations import sessions as session_ops
from maestro.operations import timeline as ops
from maestro.services import timelines
from maestro.services.runs import control as runs
from maestro.services.tasks import session_report
from maestro.store.base import Tx


async def long_run(world: World, *, events: int) -> str:
    """Start a run, log `events` events for it, and log its end."""
    task = await world.task()
    run = await world.do(runs.start_run, run_ops.StartRun(project=VC.id, task=task.id, arguments=["true"]))

    def write(tx: Tx) -> None:
        tx.log(
            *(NewEvent(EventKind.RUN_WAITING, run.id, VC.id, {"note": str(number)}) for number in range(events)),
            actor="maestro",
        )
        tx.log(
            NewEvent(EventKind.TASK_EDITED, task.id, VC.id, {}),
            NewEvent(EventKind.RUN_ENDED, run.id, VC.id, {}),
            actor="maestro",
        )

    await world.store.write(write)
    return str(run.id)


async def test_a_timeline_is_read_in_pages_to_its_end(world: World) -> None:
    run_id = await long_run(world, events=limits.page_items_max + 20)
    moments: list[ops.TimelineEvent] = []
    cursor: str | None = ""
    while cursor is not None:
        request = ops.ShowTimeline(run=run_id, limit=100, cursor=cursor)
        page = await world.do(timelines.show_timeline, request)
        assert len(page.events) <= 100 and page.truncated is (page.cursor is not None)
        moments, cursor = moments + page.events, page.cursor
    numbers = [moment.seq for moment in moments]
    assert numbers == sorted(set(numbers)), "the pages return each event once and in order"
    assert [moment.kind for moment in moments][:3] == ["task.created", "task.ready", "run.started"]
    assert [moment.kind for moment in moments][-2:] == ["task.edited", "run.ended"]
    waited = [moment.data["note"] for moment in moments if moment.kind == "run.waiting"]
    assert waited == [str(number) for number in range(limits.page_items_max + 20)]


async def test_an_export_holds_the_whole_timeline(world: World) -> None:
    run_id = await long_run(world, events=2 * limits.page_items_max)
    story = await world.do(timelines.export_timeline, ops.ExportTimeline(run=run_id))
    assert (story.kind, story.truncated) == ("run", False)
    assert len(story.events) > 2 * limits.page_items_max and story.events[-1].kind == "run.ended"


async def test_a_timeline_cursor_that_is_no_number_is_refused(world: World) -> None:
    run_id = await long_run(world, events=1)
    with pytest.raises(errors.Invalid):
        await world.do(timelines.show_timeline, ops.ShowTimeline(run=run_id, cursor="yesterday"))


async def test_a_session_of_another_project_sees_an_outline_of_a_timeline(world: World) -> None:
    worker, stranger = await world.join("w"), await world.boss("stranger", project=OTHER.id)
    report = session_ops.ReportSession(kind=ReportKind.PROGRESS, text="Secret")
    await world.do(session_report.report_work, report, by=worker)
    task = await world.task(held_by=worker)
    await world.send(worker, "human", subject="Secret", task=task.ref)

    async def data_by_kind(caller: Caller) -> dict[str, str]:
        request = ops.ShowTimeline(task=task.id)
        shown = await world.store.read(lambda tx: timelines.show_timeline(tx, caller, request))
        return {moment.kind: str(moment.data) for moment in shown.events}

    seen = await data_by_kind(stranger)
    assert "task.started" in seen and "Secret" not in str(seen)
    for caller in (worker, world.dana):
        assert {"mail.sent", "session.reported"} <= set(await data_by_kind(caller))


@pytest.mark.parametrize("subjects", [{}, {"task": "#1", "session": "w"}])
async def test_a_timeline_request_must_name_exactly_one_object(world: World, subjects: dict[str, str]) -> None:
    with pytest.raises(errors.Invalid, match="Name a task, a session or a run"):
        await world.do(timelines.show_timeline, ops.ShowTimeline(project="vc", **subjects))


async def test_the_timeline_of_a_task_includes_its_children_and_its_workers(world: World) -> None:
    worker, idle = await world.join("w"), await world.join("idle")
    parent = await world.task()
    child = await world.task(parent=parent.ref, held_by=worker)
    shown = await world.do(timelines.show_timeline, ops.ShowTimeline(task=parent.id))
    assert shown.about == "vc#1"
    texts = [(moment.kind, moment.actor, moment.subject) for moment in shown.events]
    assert ("task.started", "w", child.ref) in texts and ("session.registered", "dana", "w") in texts
    assert "idle" not in {text for _, _, text in texts}
    assert idle.name not in str(texts)


@pytest.mark.parametrize(("target", "kind", "status"), [("vc#1", "task", "in_progress"), ("w", "session", "working")])
async def test_an_export_recognises_a_task_or_a_session_by_the_form_of_the_target(
    world: World, target: str, kind: str, status: str
) -> None:
    await world.task(held_by=await world.join("w"), description="Parse the header.")
    story = await world.do(timelines.export_timeline, ops.ExportTimeline(project="vc", target=target))
    assert (story.kind, story.status, story.about) == (kind, status, target)
    assert [session.name for session in story.sessions] == ["w"]
