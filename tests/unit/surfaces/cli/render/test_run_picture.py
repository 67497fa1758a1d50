"""The picture of a run: it fits, it tells what matters, and no title breaks it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from maestro.domain.runs import RunStatus, RunStrategy
from maestro.domain.tasks import TaskStatus
from maestro.operations.runs import RunTask, RunView
from maestro.surfaces.cli.render.run_picture import changed_task_lines, draw_run, format_clock, task_waves
from maestro.surfaces.cli.render.style import finish_text, text_width

AT = datetime(2026, 1, 1, 12, tzinfo=UTC)


def task(number: int, status: TaskStatus = TaskStatus.TODO, *depends_on: int, **more: Any) -> RunTask:
    facts: dict[str, Any] = {
        "id": f"tsk_{number}",
        "ref": f"vc#{number}",
        "title": f"Task {number}",
        "status": status,
        "ready": False,
        "attempts": 0,
        "session": None,
        "session_status": None,
        "since": None,
        "waits_on": [f"vc#{one}" for one in depends_on],
        "depends_on": [f"vc#{one}" for one in depends_on],
        "started_at": AT - timedelta(seconds=65) if status is not TaskStatus.TODO else None,
        "finished_at": AT - timedelta(seconds=5) if status is TaskStatus.COMPLETED else None,
    }
    if status is TaskStatus.IN_PROGRESS:
        facts |= {"session": f"worker-{number}", "since": AT - timedelta(seconds=42), "attempts": 1}
    return RunTask(**facts | more)


def run(*tasks: RunTask, **more: Any) -> RunView:
    facts: dict[str, Any] = {
        "id": "run_1", "project_id": "prj_1", "task_id": "tsk_0", "strategy": RunStrategy.DAG, "max_parallel": 2,
        "attempts_max": 3, "member": None, "tool": "command", "words": [], "worktrees": False, "directory": "/",
        "branch": None, "status": RunStatus.RUNNING, "note": "", "started_by": "dana",
        "created_at": AT - timedelta(seconds=3723), "ended_at": None, "task": "vc#1", "title": "Ship it",
        "tasks": list(tasks), "counts": {},
    }  # fmt: skip
    return RunView(**facts | more)


def drawn(view: RunView, **size: int) -> list[str]:
    return [finish_text(line) for line in draw_run(view, at=AT, **{"columns": 80, **size})]


def test_it_tells_who_works_on_what_since_when_and_what_is_next() -> None:
    done, works, waits, ready = (
        task(2, TaskStatus.COMPLETED), task(3, TaskStatus.IN_PROGRESS, 2), task(4, TaskStatus.TODO, 3), task(5, ready=True)
    )  # fmt: skip
    lines = drawn(run(done, works, waits, ready))
    assert lines[0].startswith("vc#1 Ship it ") and lines[0].endswith(" running · dag · 1:02:03")
    assert lines[1].endswith("1/4 done · 1 running · 1 ready · 1 waiting")
    assert any("✓ #2" in line and "1:00" in line for line in lines)
    assert any("● #3" in line and "worker-3  0:42" in line and line.endswith("← #2") for line in lines)
    assert any("○ #4" in line and line.endswith("← #3") for line in lines)
    assert lines[-1] == "next  #5 Task 5, #4 Task 4"


def test_a_wave_comes_after_all_it_depends_on() -> None:
    tasks = [task(5, TaskStatus.TODO, 4, 9), task(4, TaskStatus.TODO, 3), task(3), task(2, TaskStatus.TODO, 3)]
    assert task_waves(tasks) == {"vc#3": 1, "vc#4": 2, "vc#2": 2, "vc#5": 3}, "what is elsewhere does not count"
    chain = [task(number, TaskStatus.TODO, number + 1) for number in range(5000)]
    assert task_waves(chain)["vc#0"] == 5000
    assert task_waves([task(1, TaskStatus.TODO, 1), task(2, TaskStatus.TODO, 3), task(3, TaskStatus.TODO, 2)]).keys() == {
        "vc#1", "vc#2", "vc#3"
    }  # fmt: skip


@pytest.mark.parametrize("columns", [20, 40, 79, 200])
@pytest.mark.parametrize("rows", [8, 12, 24])
@pytest.mark.parametrize("count", [1, 10, 500])
def test_it_fits_whatever_the_window_is(columns: int, rows: int, count: int) -> None:
    statuses = [TaskStatus.COMPLETED, TaskStatus.IN_PROGRESS, TaskStatus.TODO, TaskStatus.FAILED]
    tasks = [
        task(number, statuses[number % 4], *range(max(number - 9, 0), number), title="漢字 " * 30)
        for number in range(count)
    ]
    lines = draw_run(run(*tasks, title="x" * 300), at=AT, columns=columns, rows=rows, foot=["", "leave"])
    assert len(lines) <= rows
    assert all(text_width(finish_text(line)) <= columns for line in lines)


def test_what_runs_is_shown_before_what_is_done() -> None:
    tasks = [task(number, TaskStatus.COMPLETED) for number in range(50)] + [task(99, TaskStatus.IN_PROGRESS)]
    lines = drawn(run(*tasks), rows=10)
    assert any("● #99" in line for line in lines)
    assert any("more: " in line and "completed" in line for line in lines)


def test_no_title_reaches_the_terminal_as_anything_but_text() -> None:
    hostile = "\x1b[2J\x1b]0;owned\x07\nsecond line\r\u202egnp"
    view = run(task(2, TaskStatus.IN_PROGRESS, title=hostile, session=hostile), title=hostile, note=hostile)
    text = "\n".join(drawn(view, columns=0))
    assert "\x1b" not in text and "\r" not in text and "\x07" not in text and "\u202e" not in text
    assert len(drawn(view, columns=0)) == 6
    assert "\n" not in "".join(drawn(view, columns=0))


def test_a_style_ends_where_its_text_is_cut() -> None:
    for line in draw_run(run(task(2, TaskStatus.COMPLETED), title="t" * 100), at=AT, columns=12):
        painted = finish_text(line, color=True)
        assert painted.rfind("\x1b[0m") >= max(painted.rfind(f"\x1b[{code}m") for code in (1, 2, 31, 32, 34, 36))


def test_only_what_changed_is_said_and_once() -> None:
    before = run(task(2, TaskStatus.IN_PROGRESS), task(3, TaskStatus.TODO, 2))
    after = run(task(2, TaskStatus.COMPLETED), task(3, TaskStatus.IN_PROGRESS, 2))
    assert changed_task_lines(before, before) == {}
    assert list(changed_task_lines(before, after).values()) == [
        "vc#2  completed  Task 2  [1/2]",
        "vc#3  running  worker-3  Task 3",
    ]
    again = run(task(2, TaskStatus.IN_PROGRESS, attempts=2), task(3, TaskStatus.TODO, 2))
    assert list(changed_task_lines(before, again).values()) == ["vc#2  running  worker-2  attempt 2  Task 2"]
    assert list(changed_task_lines(None, before).values()) == ["vc#2  running  worker-2  Task 2"]


@pytest.mark.parametrize(("seconds", "shown"), [(-1, "0:00"), (7.9, "0:07"), (750, "12:30"), (3723, "1:02:03")])
def test_a_clock(seconds: float, shown: str) -> None:
    assert format_clock(seconds) == shown
