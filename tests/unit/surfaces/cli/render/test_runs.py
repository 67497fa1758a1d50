"""Runs are rendered as lines, as a picture with discovered tasks, and as lines of changes."""

from __future__ import annotations

from typing import Any

import msgspec
from tests.unit.surfaces.cli.render.conftest import AT, TTY, rendered, run_task, run_view, text_of

from maestro.domain.runs import Run, RunStatus
from maestro.domain.tasks import TaskStatus
from maestro.operations.runs import RunInList, RunList
from maestro.operations.task_shapes import TaskReference
from maestro.surfaces.cli.render.runs import render_run_changes
from maestro.surfaces.cli.render.style import finish_text


def run_as(kind: Any, **more: Any) -> Any:
    """Return the facts of a run view as a value of another type."""
    facts = msgspec.structs.asdict(run_view(**more))
    return kind(**{name: facts[name] for name in kind.__struct_fields__})


def changes(before: Any, after: Any) -> str:
    return finish_text(str(render_run_changes(before, after).out))


def test_a_run_is_shown_in_a_single_line() -> None:
    assert text_of(run_as(Run)) == "run_1  running  dag\n"


def test_the_list_of_runs_has_one_line_for_each_run() -> None:
    listed = run_as(RunInList, created_at=AT, note="two\nlines")
    shown = rendered(RunList(runs=[listed], cursor="abc"))
    assert shown.out == "run_1  vc#1  Ship it  running  dag  2026-01-01T12:00:00Z  two lines\n"
    assert shown.notes == ["more results: --cursor abc"]
    assert rendered(RunList(runs=[])).notes == ["no runs yet"]


def test_a_run_view_shows_the_picture_and_the_discovered_tasks() -> None:
    found = TaskReference("tsk_9", "vc#9", "Leak", TaskStatus.TODO)
    lines = text_of(run_view(run_task(2), found=[found])).splitlines()
    assert lines[0] == "run_1  running  dag"
    assert any("○ #2" in line for line in lines)
    assert lines[-1] == "discovered: vc#9  todo  Leak"


def test_a_terminal_gets_a_picture_of_bounded_height() -> None:
    view = run_view(*(run_task(number) for number in range(200)))
    assert len(text_of(view, TTY).splitlines()) < 70 < 200 < len(text_of(view).splitlines())


def test_each_changed_task_of_a_run_has_a_line_and_an_unchanged_run_has_none() -> None:
    before, after = run_view(run_task(2)), run_view(run_task(2, TaskStatus.IN_PROGRESS))
    assert changes(before, after) == "vc#2  running  worker-2  Task 2\n"
    assert changes(after, after) == ""


def test_the_end_of_a_run_is_shown_as_a_change() -> None:
    ended = run_view(status=RunStatus.FAILED, note="No attempts are left.")
    assert changes(run_view(), ended) == "run_1  failed  dag  No attempts are left.\n"


def test_a_new_note_of_a_run_is_shown_as_a_change_and_a_removed_note_is_not() -> None:
    assert changes(run_view(note="a"), run_view(note="b")) == "run_1  running  dag  b\n"
    assert changes(run_view(note="a"), run_view(note="")) == ""
    assert changes(run_view(note="a"), run_view(note="a")) == ""
