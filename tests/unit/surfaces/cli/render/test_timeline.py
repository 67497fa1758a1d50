"""A timeline is rendered with one line for each event."""

from __future__ import annotations

from typing import Any

from tests.unit.surfaces.cli.render.conftest import AT, WHEN, rendered, text_of

from maestro.operations.timeline import Timeline, TimelineEvent


def timeline(*data: dict[str, Any], cursor: str | None = None) -> Timeline:
    events = [
        TimelineEvent(seq=number, at=AT, kind="task.completed", actor="parser", subject="vc#4", data=fields)
        for number, fields in enumerate(data)
    ]
    return Timeline(about="vc#4", events=events, truncated=False, cursor=cursor)


def test_each_event_of_a_timeline_is_shown_in_a_single_line() -> None:
    shown = text_of(timeline({"status": "completed", "text": "It\nworks.", "fence": 3, "reason": ""}))
    assert shown == f"{WHEN}  task.completed  vc#4  parser  completed; It works.\n"


def test_the_long_data_of_a_timeline_event_is_cut() -> None:
    line = text_of(timeline({"text": "x" * 500})).rstrip()
    assert line.endswith("x" * 100) and not line.endswith("x" * 101)


def test_the_notes_of_a_timeline_name_the_next_page_or_tell_that_it_is_empty() -> None:
    assert rendered(timeline({}, cursor="abc")).notes == ["more results: --cursor abc"]
    assert rendered(timeline()).notes == ["no events yet"]
