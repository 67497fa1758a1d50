"""The picture of a run shows its tasks in waves, fits into the window, and contains no control characters."""

from __future__ import annotations

import pytest
from tests.unit.surfaces.cli.render.conftest import AT, run_task, run_view

from maestro.domain.tasks import TaskStatus
from maestro.operations.runs import RunView
from maestro.surfaces.cli.render.run_picture import changed_task_lines, draw_run, format_clock, task_waves
from maestro.surfaces.cli.render.style import finish_text, text_width


def drawn(view: RunView, **size: int) -> list[str]:
    return [finish_text(line) for line in draw_run(view, at=AT, **{"columns": 80, **size})]


def test_the_picture_of_a_run_shows_sessions_times_dependencies_and_next_tasks() -> None:
    done, works, waits, ready = (
        run_task(2, TaskStatus.COMPLETED), run_task(3, TaskStatus.IN_PROGRESS, 2), run_task(4, TaskStatus.TODO, 3), run_task(5, ready=True)
    )  # fmt: skip
    lines = drawn(run_view(done, works, waits, ready))
    assert lines[0].startswith("vc#1 Ship it ") and lines[0].endswith(" running · dag · 1:02:03")
    assert lines[1].endswith("1/4 done · 1 running · 1 ready · 1 waiting")
    assert any("✓ #2" in line and "1:00" in line for line in lines)
    assert any("● #3" in line and "worker-3  0:42" in line and line.endswith("← #2") for line in lines)
    assert any("○ #4" in line and line.endswith("← #3") for line in lines)
    assert lines[-1] == "next  #5 Task 5, #4 Task 4"


def test_a_task_is_in_the_wave_after_its_dependencies() -> None:
    tasks = [
        run_task(5, TaskStatus.TODO, 4, 9),
        run_task(4, TaskStatus.TODO, 3),
        run_task(3),
        run_task(2, TaskStatus.TODO, 3),
    ]
    assert task_waves(tasks) == {"vc#3": 1, "vc#4": 2, "vc#2": 2, "vc#5": 3}, (
        "A dependency outside the run was counted, or a wave is wrong."
    )
    chain = [run_task(number, TaskStatus.TODO, number + 1) for number in range(5000)]
    assert task_waves(chain)["vc#0"] == 5000
    assert task_waves([run_task(1, TaskStatus.TODO, 1), run_task(2, TaskStatus.TODO, 3), run_task(3, TaskStatus.TODO, 2)]).keys() == {
        "vc#1", "vc#2", "vc#3"
    }  # fmt: skip


@pytest.mark.parametrize("columns", [20, 40, 79, 200])
@pytest.mark.parametrize("rows", [8, 12, 24])
@pytest.mark.parametrize("count", [1, 10, 500])
def test_the_picture_fits_into_every_window(columns: int, rows: int, count: int) -> None:
    statuses = [TaskStatus.COMPLETED, TaskStatus.IN_PROGRESS, TaskStatus.TODO, TaskStatus.FAILED]
    tasks = [
        run_task(number, statuses[number % 4], *range(max(number - 9, 0), number), title="漢字 " * 30)
        for number in range(count)
    ]
    lines = draw_run(run_view(*tasks, title="x" * 300), at=AT, columns=columns, rows=rows, foot=["", "leave"])
    assert len(lines) <= rows
    assert all(text_width(finish_text(line)) <= columns for line in lines)


def test_running_tasks_are_shown_before_completed_tasks() -> None:
    tasks = [run_task(number, TaskStatus.COMPLETED) for number in range(50)] + [run_task(99, TaskStatus.IN_PROGRESS)]
    lines = drawn(run_view(*tasks), rows=10)
    assert any("● #99" in line for line in lines)
    assert any("more: " in line and "completed" in line for line in lines)


def test_hostile_titles_in_the_picture_are_shown_without_control_characters() -> None:
    hostile = "\x1b[2J\x1b]0;owned\x07\nsecond line\r\u202egnp"
    view = run_view(run_task(2, TaskStatus.IN_PROGRESS, title=hostile, session=hostile), title=hostile, note=hostile)
    text = "\n".join(drawn(view, columns=0))
    assert "\x1b" not in text and "\r" not in text and "\x07" not in text and "\u202e" not in text
    assert len(drawn(view, columns=0)) == 6
    assert "\n" not in "".join(drawn(view, columns=0))


def test_the_style_of_a_cut_line_ends_with_the_line() -> None:
    for line in draw_run(run_view(run_task(2, TaskStatus.COMPLETED), title="t" * 100), at=AT, columns=12):
        painted = finish_text(line, color=True)
        assert painted.rfind("\x1b[0m") >= max(painted.rfind(f"\x1b[{code}m") for code in (1, 2, 31, 32, 34, 36))


def test_only_changed_tasks_have_a_line_in_the_changes_of_a_run() -> None:
    before = run_view(run_task(2, TaskStatus.IN_PROGRESS), run_task(3, TaskStatus.TODO, 2))
    after = run_view(run_task(2, TaskStatus.COMPLETED), run_task(3, TaskStatus.IN_PROGRESS, 2))
    assert changed_task_lines(before, before) == {}
    assert list(changed_task_lines(before, after).values()) == [
        "vc#2  completed  Task 2  [1/2]",
        "vc#3  running  worker-3  Task 3",
    ]
    again = run_view(run_task(2, TaskStatus.IN_PROGRESS, attempts=2), run_task(3, TaskStatus.TODO, 2))
    assert list(changed_task_lines(before, again).values()) == ["vc#2  running  worker-2  attempt 2  Task 2"]
    assert list(changed_task_lines(None, before).values()) == ["vc#2  running  worker-2  Task 2"]


@pytest.mark.parametrize(("seconds", "shown"), [(-1, "0:00"), (7.9, "0:07"), (750, "12:30"), (3723, "1:02:03")])
def test_a_duration_is_formatted_like_a_clock(seconds: float, shown: str) -> None:
    assert format_clock(seconds) == shown
