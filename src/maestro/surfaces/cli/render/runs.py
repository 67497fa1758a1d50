"""Render runs as text: one line for each run, and the picture of a single run."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from maestro.domain.runs import Run, RunStatus
from maestro.operations import runs as ops
from maestro.surfaces.cli.render.base import Rendered, format_time, next_page_note
from maestro.surfaces.cli.render.run_picture import changed_task_lines, draw_run, landing_text
from maestro.surfaces.cli.render.style import View, align_rows, paint, safe_line

_COLORS = {RunStatus.RUNNING: "blue", RunStatus.COMPLETED: "green", RunStatus.FAILED: "red"}
_rows_max = 60


def render_run(value: Run, view: View) -> Rendered:
    return Rendered(f"{_run_summary(value)}\n")


def render_run_list(value: ops.RunList, view: View) -> Rendered:
    return Rendered(run_table(value.runs), next_page_note(value.cursor) if value.runs else ["no runs yet"])


def run_table(runs: Sequence[ops.RunInList]) -> str:
    """Return one line for each run."""
    return align_rows(
        [
            run.id,
            safe_line(run.task),
            safe_line(run.title),
            _painted_status(run),
            run.strategy,
            format_time(run.created_at),
            safe_line(run.note),
        ]
        for run in runs
    )


def render_run_view(value: ops.RunView, view: View) -> Rendered:
    """Render the run and its task graph."""
    lines = draw_run(value, at=datetime.now(UTC), columns=view.width, rows=0 if not view.tty else _rows_max)
    discovered = [
        f"discovered: {safe_line(task.ref)}  {task.status}  {safe_line(task.title)}" for task in value.found
    ]
    return Rendered("\n".join([_run_summary(value), *lines, *discovered]) + "\n")


def render_run_changes(before: ops.RunView, after: ops.RunView) -> Rendered:
    """Render the changes since `before`, one line for each task."""
    lines = list(changed_task_lines(before, after).values())
    if after.status is not before.status or (after.note and after.note != before.note):
        lines.append(f"{_run_summary(after)}  {safe_line(after.note)}".rstrip())
        lines += [location] if (location := landing_text(after)) else []
    return Rendered("".join(f"{text}\n" for text in lines))


def _run_summary(value: Run) -> str:
    return f"{value.id}  {_painted_status(value)}  {value.strategy}"


def _painted_status(value: Run) -> str:
    return paint(value.status, _COLORS.get(value.status, ""))
