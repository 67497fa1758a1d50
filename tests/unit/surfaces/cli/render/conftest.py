"""Helpers for tests of rendered answers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from maestro.domain.runs import RunStatus, RunStrategy
from maestro.domain.tasks import TaskStatus
from maestro.operations.runs import RunTask, RunView
from maestro.surfaces.cli.render import answers
from maestro.surfaces.cli.render.base import Rendered
from maestro.surfaces.cli.render.style import View, finish_text

AT = datetime(2026, 1, 1, 12, tzinfo=UTC)
WHEN = "2026-01-01T12:00:00Z"
PLAIN = View()
TTY = View(tty=True, columns=80)


def rendered(value: Any, view: View = PLAIN) -> Rendered:
    """Return the rendered answer for a program, or for a terminal without colours."""
    found = answers.render_answer(value, view)
    return Rendered(finish_text(found.out) if isinstance(found.out, str) else found.out, found.notes)


def text_of(value: Any, view: View = PLAIN) -> str:
    """Return the standard output of an answer."""
    return str(rendered(value, view).out)


def run_task(number: int, status: TaskStatus = TaskStatus.TODO, *depends_on: int, **more: Any) -> RunTask:
    """Return a task of a run that depends on the tasks with the given numbers."""
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
        "waits_on": [f"vc#{other}" for other in depends_on],
        "depends_on": [f"vc#{other}" for other in depends_on],
        "started_at": AT - timedelta(seconds=65) if status is not TaskStatus.TODO else None,
        "finished_at": AT - timedelta(seconds=5) if status is TaskStatus.COMPLETED else None,
    }
    if status is TaskStatus.IN_PROGRESS:
        facts |= {"session": f"worker-{number}", "since": AT - timedelta(seconds=42), "attempts": 1}
    return RunTask(**facts | more)


def run_view(*tasks: RunTask, **more: Any) -> RunView:
    """Return a running run with the given tasks."""
    facts: dict[str, Any] = {
        "id": "run_1", "project_id": "prj_1", "task_id": "tsk_0", "strategy": RunStrategy.DAG, "max_parallel": 2,
        "attempts_max": 3, "member": None, "tool": "command", "arguments": [], "worktrees": False, "directory": "/",
        "branch": None, "status": RunStatus.RUNNING, "note": "", "started_by": "dana",
        "created_at": AT - timedelta(seconds=3723), "ended_at": None, "task": "vc#1", "title": "Ship it",
        "tasks": list(tasks), "counts": {},
    }  # fmt: skip
    return RunView(**facts | more)
