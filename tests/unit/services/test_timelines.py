"""Timelines: page by page to the end, and exported whole."""

from __future__ import annotations

from typing import Any

import pytest

from maestro.core import errors, limits
from maestro.domain.events import EventKind, NewEvent
from maestro.operations import runs as run_ops
from maestro.operations import timeline as ops
from maestro.services import timelines
from maestro.services.runs import control as runs
from maestro.store.base import Tx

World = Any
VC = "prj_00000000000000000000000000"


async def long_run(world: World, *, events: int) -> str:
    """A run that has said a great deal, and then ended."""
    task = await world.task()
    run = await world.do(runs.start_run, run_ops.StartRun(project=VC, task=task.id, words=["true"]))

    def write(tx: Tx) -> None:
        tx.log(
            *(NewEvent(EventKind.RUN_WAITING, run.id, VC, {"note": str(n)}) for n in range(events)), actor="maestro"
        )
        tx.log(
            NewEvent(EventKind.TASK_EDITED, task.id, VC, {}),
            NewEvent(EventKind.RUN_ENDED, run.id, VC, {}),
            actor="maestro",
        )

    await world.store.write(write)
    return str(run.id)


async def test_a_timeline_is_turned_page_by_page_to_its_end(world: World) -> None:
    run_id = await long_run(world, events=limits.page_items_max + 20)
    moments: list[ops.TimelineEvent] = []
    cursor: str | None = ""
    while cursor is not None:
        request = ops.ShowTimeline(run=run_id, limit=100, cursor=cursor)
        page = await world.do(timelines.show_timeline, request)
        assert len(page.moments) <= 100 and page.truncated is (page.cursor is not None)
        moments, cursor = moments + page.moments, page.cursor
    places = [one.seq for one in moments]
    assert places == sorted(set(places)), "in order, nothing twice"
    assert [one.kind for one in moments][:3] == ["task.created", "task.ready", "run.started"]
    assert [one.kind for one in moments][-2:] == ["task.edited", "run.ended"]
    waited = [one.data["note"] for one in moments if one.kind == "run.waiting"]
    assert waited == [str(n) for n in range(limits.page_items_max + 20)]


async def test_an_export_has_all_of_it(world: World) -> None:
    run_id = await long_run(world, events=2 * limits.page_items_max)
    story = await world.do(timelines.export_timeline, ops.ExportTimeline(run=run_id))
    assert (story.kind, story.truncated) == ("run", False)
    assert len(story.moments) > 2 * limits.page_items_max and story.moments[-1].kind == "run.ended"


async def test_what_is_no_cursor_is_said(world: World) -> None:
    run_id = await long_run(world, events=1)
    with pytest.raises(errors.Invalid):
        await world.do(timelines.show_timeline, ops.ShowTimeline(run=run_id, cursor="yesterday"))
