"""Tasks are rendered as tables, trees and details, with the reason why a task waits."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec

from maestro.domain.documents import Document, ReportKind, TaskReport
from maestro.domain.priorities import Priority
from maestro.domain.tasks import Task, TaskStatus
from maestro.operations import task_shapes as ops
from maestro.surfaces.cli.render import answers
from maestro.surfaces.cli.render.style import View, finish_text, text_width
from maestro.testing.factories import make_task

AT = datetime(2026, 1, 1, 12, tzinfo=UTC)
RUNNING: dict[str, Any] = {"status": TaskStatus.IN_PROGRESS, "ready": False, "holder": "ses_1", "fence": 3}
HELD_UP: dict[str, Any] = {"ready": False, "open_blockers": 2}


def out(value: Any, view: View = View()) -> str:  # noqa: B008 a frozen value
    return finish_text(str(answers.render_answer(value, view).out), color=view.color)


def grown(kind: type[Any], task: Task, **more: Any) -> Any:
    return kind(**msgspec.structs.asdict(task), **more)


def link(number: int, status: TaskStatus = TaskStatus.TODO) -> ops.TaskReference:
    return ops.TaskReference(f"tsk_{number}", f"vc#{number}", f"Task {number}", status)


def test_a_program_gets_a_table_of_tasks_without_a_heading() -> None:
    found = [
        make_task(number=4, title="Parse"),
        make_task(number=12, title="Run", priority=Priority.CRITICAL, **RUNNING),
        make_task(number=13, title="Wait", **HELD_UP),
        make_task(number=14, title="Gone", status=TaskStatus.FAILED, ready=False, reason="No format", archived=True),
    ]
    assert out(ops.TaskList(tasks=found)) == (
        "vc#4   ready        normal    Parse\n"
        "vc#12  in_progress  critical  Run  (held by ses_1)\n"
        "vc#13  todo         normal    Wait  (waits on 2 tasks)\n"
        "vc#14  failed       normal    Gone  (No format, archived)\n"
    )


def test_a_terminal_gets_a_table_of_tasks_with_a_heading_that_fits_its_width() -> None:
    found = [make_task(number=4, title="A very long title " * 10, **RUNNING)]
    lines = out(ops.TaskList(tasks=found), View(tty=True, columns=80)).splitlines()
    assert lines[0].split() == ["REF", "STATUS", "PRIO", "TITLE"]
    assert text_width(lines[1]) == 80 and lines[1].endswith("…  (held by ses_1)")


def test_a_program_gets_the_uncut_title_of_a_task() -> None:
    title = "A very long title " * 10
    assert title.strip() in out(ops.TaskList(tasks=[make_task(title=title)]), View(columns=80))


def test_the_status_of_a_task_is_coloured_on_request() -> None:
    text = out(ops.TaskList(tasks=[make_task()]), View(color=True))
    assert "\x1b[36mready\x1b[0m" in text


def test_a_waiting_task_shows_why_it_waits() -> None:
    found = [
        grown(ops.WaitingTask, make_task(number=5, **HELD_UP), blockers=[link(2), link(3, TaskStatus.FAILED)]),
        grown(ops.WaitingTask, make_task(number=6, ready=False, stage="build"), blockers=[], waits_for_stage="plan"),
        grown(
            ops.WaitingTask,
            make_task(number=7, status=TaskStatus.BLOCKED, ready=False, reason="Needs a key"),
            blockers=[],
        ),
    ]
    text = out(ops.WaitingTasks(tasks=found))
    assert "(waits on #2 todo, #3 failed)" in text
    assert "(waits for stage plan)" in text
    assert "(Needs a key)" in text


def test_a_moved_task_shows_its_claim_and_the_tasks_that_it_unblocked() -> None:
    task = make_task(number=4, title="Parse", lease_until=AT, **RUNNING)
    assert out(grown(ops.MovedTask, task, unblocked=["vc#5", "vc#6"])) == (
        "vc#4 in_progress  Parse  (claim 3, lease until 2026-01-01T12:00:00Z)\nunblocked: vc#5, vc#6\n"
    )


def test_a_new_task_is_not_listed_as_unblocked_by_itself() -> None:
    assert out(grown(ops.MovedTask, make_task(number=4), unblocked=["vc#4"])) == "vc#4 ready  A task\n"


def test_the_answer_to_a_report_shows_the_status_of_the_task() -> None:
    report = TaskReport("rep_1", "tsk_1", ReportKind.PROGRESS, "Half", "ses_1", AT)
    rendered = answers.render_answer(grown(ops.ReportedTask, make_task(number=4, **RUNNING), report=report), View())
    assert "vc#4 in_progress" in finish_text(str(rendered.out))
    assert rendered.notes == ["reported progress (rep_1)"]


def test_a_task_tree_shows_children_below_parents_with_their_dependencies() -> None:
    def node(number: int, depth: int, depends_on: list[str] | None = None, **fields: Any) -> ops.TaskNode:
        task = make_task(number=number, title=f"T{number}", **fields)
        return grown(ops.TaskNode, task, depth=depth, depends_on=depends_on or [])  # type: ignore[no-any-return]

    nodes = [
        node(1, 0),
        node(2, 1, status=TaskStatus.COMPLETED, ready=False),
        node(3, 2, ["vc#2", "vc#9", "api#2"], **HELD_UP),
        node(4, 2),
        node(5, 1, ["vc#2"]),
        node(6, 2),
        node(7, 0),
    ]
    assert out(ops.TaskTree(tasks=nodes)) == (
        "vc#1 ready  T1\n"
        "├─ vc#2 completed  T2\n"
        "│  ├─ vc#3 todo  T3  (waits on #9,api#2)\n"
        "│  └─ vc#4 ready  T4\n"
        "└─ vc#5 ready  T5  (after #2)\n"
        "   └─ vc#6 ready  T6\n"
        "vc#7 ready  T7\n"
    )
    assert answers.render_answer(ops.TaskTree(tasks=nodes, truncated=True), View()).notes


def test_the_detail_of_a_task_shows_all_its_facts_uncut() -> None:
    description = "First line\n\n" + "long " * 200
    task = make_task(
        number=4,
        title="Parse",
        description=description,
        accept=["It parses", "two\nlines"],
        gates=["make test"],
        parent_id="tsk_parent",
        lease_until=AT,
        **RUNNING,
    )
    detail = grown(
        ops.TaskDetail,
        task,
        blockers=[link(2)],
        dependencies=[link(2), link(3, TaskStatus.COMPLETED)],
        dependants=[link(8)],
        children=[link(9)],
        found=[link(10)],
        reports=[TaskReport("rep_1", "tsk_1", ReportKind.BLOCKED, "Needs\na key", "ses_1", AT)],
        documents=[Document("doc_1", "tsk_1", "Notes", "notes.md", 2048, "0" * 64, "ses_1", AT)],
    )
    text = out(detail, View(tty=True, columns=40))
    assert description.replace("\nlong", "\n  long").strip() in text
    for part in ("vc#4  Parse", "ses_1 (claim 3)", "- It parses", "- two\n    lines", "- make test", "tsk_parent"):
        assert part in text
    for number in (2, 3, 8, 9, 10):
        assert f"vc#{number}" in text and f"Task {number}" in text
    assert "    Needs\n    a key\n" in text
    assert "doc_1  2.0 KiB  Notes  notes.md  ses_1  2026-01-01T12:00:00Z" in text


def test_notes_tell_that_no_task_is_blocked_and_that_no_tasks_exist() -> None:
    assert answers.render_answer(ops.WaitingTasks(tasks=[]), View()).notes == ["no task is blocked"]
    assert answers.render_answer(ops.TaskTree(tasks=[]), View()).notes == ["no tasks"]


def test_a_list_without_a_ready_task_says_why() -> None:
    assert answers.render_answer(ops.ReadyTaskList(tasks=[]), View()).notes == ["no tasks"]
    waiting = ops.ReadyTaskList(tasks=[], not_ready={"todo": 3, "in_progress": 1})
    assert answers.render_answer(waiting, View()).notes == [
        "no task is ready (3 todo, 1 in_progress); `maestro task blocked` shows why tasks wait"
    ]
