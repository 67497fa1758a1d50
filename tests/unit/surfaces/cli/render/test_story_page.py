"""The HTML page of a timeline shows tasks, sessions and events, and escapes every text."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from tests.unit.surfaces.cli.render.conftest import AT, PLAIN

from maestro.domain.documents import Document, ReportKind, TaskReport
from maestro.domain.gates import GateResult
from maestro.domain.sessions import SessionMode, SessionStatus
from maestro.domain.tasks import TaskStatus
from maestro.operations.timeline import ExportedSession, ExportedTask, ExportedTimeline, TimelineEvent
from maestro.surfaces.cli.render.story_page import render_story


def task(**fields: Any) -> ExportedTask:
    values: dict[str, Any] = {
        "ref": "vc#4", "title": "Parse", "status": TaskStatus.COMPLETED, "depends_on": [], "started_at": None,
        "finished_at": None, "reason": None, "reports": [], "gates": [], "documents": [],
    }  # fmt: skip
    return ExportedTask(**{**values, **fields})


def session(**fields: Any) -> ExportedSession:
    values: dict[str, Any] = {
        "name": "parser", "mode": SessionMode.EXECUTE, "status": SessionStatus.COMPLETED, "tool": "claude",
        "tasks": ["vc#4"], "created_at": AT, "ended_at": AT + timedelta(seconds=60), "exit_code": 0, "branch": None,
        "merged_into": None,
    }  # fmt: skip
    return ExportedSession(**{**values, **fields})


def event(seconds: int = 0, kind: str = "task.started", **data: Any) -> TimelineEvent:
    return TimelineEvent(
        seq=1, at=AT + timedelta(seconds=seconds), kind=kind, actor="parser", subject="vc#4", data=data
    )


def page(**fields: Any) -> str:
    """Return the body of the page of a run."""
    values: dict[str, Any] = {
        "about": "run_1", "events": [], "truncated": False, "kind": "run", "title": "Ship it",
        "status": "completed", "note": "", "at": AT + timedelta(seconds=90), "tasks": [], "sessions": [],
    }  # fmt: skip
    whole = str(render_story(ExportedTimeline(**{**values, **fields}), PLAIN).out)
    return whole[whole.index("<main>") :]


def test_a_story_page_without_content_has_no_empty_sections() -> None:
    body = page()
    assert "<h2>Tasks</h2>" not in body and "<h2>Sessions</h2>" not in body and 'class="note"' not in body
    assert "0 of 0 completed" in body


def test_the_head_of_the_page_shows_times_counts_and_the_note() -> None:
    body = page(
        events=[event(5), event(65)], tasks=[task(), task(status=TaskStatus.FAILED)], note="No attempts are left."
    )
    assert "<dt>Began</dt><dd>2026-01-01 12:00:05 UTC</dd>" in body
    assert "<dt>Ended</dt><dd>2026-01-01 12:01:05 UTC</dd>" in body
    assert "<dt>Took</dt><dd>1:00</dd>" in body
    assert "1 of 2 completed" in body and "No attempts are left." in body


@pytest.mark.parametrize("status", ["running", "working", "in_progress"])
def test_a_page_of_unfinished_work_has_a_last_event_instead_of_an_end(status: str) -> None:
    assert "<dt>Last event</dt>" in page(status=status) and "<dt>Ended</dt>" not in page(status=status)


def test_every_text_of_the_page_is_escaped() -> None:
    hostile = '<script>alert("x")</script>&\u202e'
    body = page(
        title=hostile,
        about=hostile,
        note=hostile,
        events=[event(text=hostile)],
        tasks=[task(title=hostile, reason=hostile)],
        sessions=[session(name=hostile, merged_into=hostile)],
    )
    assert "<script" not in body and "\u202e" not in body
    assert "&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;&amp;" in body


def test_a_long_text_of_the_page_is_cut() -> None:
    assert len(page(note="x" * 100_000)) < 10_000


def bars(*sessions: ExportedSession) -> list[tuple[float, float]]:
    """Return the left edge and the width of each session's bar, in percent."""
    found = re.findall(r'<i class="\w+" style="left:([\d.]+)%;width:([\d.]+)%">', page(sessions=list(sessions)))
    return [(float(left), float(width)) for left, width in found]


def test_sessions_are_shown_on_a_common_time_axis_in_the_order_of_their_starts() -> None:
    later = session(created_at=AT + timedelta(seconds=30))
    assert bars(later, session()) == [(0, 100), (50, 50)]


def test_the_bar_of_a_session_without_an_end_reaches_to_the_time_of_the_export() -> None:
    assert bars(session(ended_at=None), session(ended_at=AT + timedelta(seconds=45))) == [(0, 100), (0, 50)]


def test_the_bar_of_a_very_short_session_has_a_minimal_width() -> None:
    assert bars(session(ended_at=AT)) == [(0, 0.4)]


def test_the_time_axis_has_at_most_seven_marks_for_every_duration() -> None:
    for seconds in (1, 59, 60, 3_601, 90_000, 10_000_000):
        body = page(sessions=[session(ended_at=AT + timedelta(seconds=seconds))])
        axis = body[body.index('<div class="lane axis">') : body.index('<div class="lane">')]
        assert 2 <= axis.count("left:") <= 7


def test_the_lane_of_a_session_shows_exit_code_and_merge() -> None:
    body = page(sessions=[session(exit_code=3, merged_into="main")])
    assert "completed · 1:00 · exit code 3 · merged into main" in body
    assert "completed · 1:00<" in page(sessions=[session()])


def test_a_task_without_facts_cannot_be_unfolded() -> None:
    assert "<details" not in page(tasks=[task()])


def test_a_task_shows_duration_dependencies_and_reason() -> None:
    body = page(
        tasks=[
            task(
                started_at=AT, finished_at=AT + timedelta(seconds=61), depends_on=["vc#2", "vc#3"], reason="Out of time."
            )
        ]
    )  # fmt: skip
    assert "1:01 · after vc#2 vc#3" in body
    assert "<details" in body and "<p>Out of time.</p>" in body


def test_the_facts_of_a_task_are_shown_in_the_order_of_their_times() -> None:
    gate: dict[str, Any] = {
        "id": "gat_1", "task_id": "tsk_1", "session_id": None, "command": "make test", "exit_code": 2, "seconds": 1.0
    }  # fmt: skip
    body = page(
        tasks=[
            task(
                documents=[
                    Document("doc_1", "tsk_1", "Notes", "n.md", 2048, "", "parser", AT + timedelta(seconds=3))
                ],
                gates=[
                    GateResult(**gate, passed=True, created_at=AT + timedelta(seconds=2)),
                    GateResult(**gate, passed=False, created_at=AT + timedelta(seconds=1)),
                ],
                reports=[TaskReport("rep_1", "tsk_1", ReportKind.PROGRESS, "Half done.", "parser", AT)],
            )
        ]
    )
    assert re.findall(r'<span class="(\w+)">([^<]+)</span><time', body) == [
        ("dim", "progress"),
        ("bad", "gate failed (exit code 2), sandbox: none"),
        ("good", "gate passed, sandbox: none"),
        ("good", "artifact"),
    ]
    assert "Notes · n.md · 2.0 KiB · doc_1" in body


def test_an_event_shows_the_time_since_the_first_event_and_each_value_once() -> None:
    body = page(events=[event(), event(75, text="Done.", reason="Done.", note="", fence=3)])
    assert ">+0:00</time>" in body and ">+1:15</time>" in body
    assert "<p>Done.</p>" in body and "fence" not in body


@pytest.mark.parametrize(
    ("kind", "data", "tone"),
    [
        ("task.failed", {}, "bad"),
        ("task.completed", {}, "good"),
        ("task.moved", {"status": "in_progress"}, "busy"),
        ("gate.ended", {"outcome": "failed"}, "bad"),
        ("mail.sent", {}, "dim"),
    ],
)
def test_the_colour_of_an_event_follows_from_its_status_or_its_kind(
    kind: str, data: dict[str, str], tone: str
) -> None:
    assert f'<li class="{tone}">' in page(events=[event(kind=kind, **data)])


def test_the_page_mentions_that_the_log_has_more_events() -> None:
    assert "The log has more events" in page(truncated=True)
    assert "The log has more events" not in page()
