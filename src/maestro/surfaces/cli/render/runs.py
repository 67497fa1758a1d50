"""Render runs as text: one line for each run, and the picture of a single run."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from maestro.domain.runs import Run, RunStatus
from maestro.operations import runs as ops
from maestro.surfaces.cli.render.base import Rendered, more, when
from maestro.surfaces.cli.render.run_picture import changes, landed, picture
from maestro.surfaces.cli.render.style import View, aligned, line, paint

_COLORS = {RunStatus.RUNNING: "blue", RunStatus.COMPLETED: "green", RunStatus.FAILED: "red"}
_rows_max = 60


def run(value: Run, view: View) -> Rendered:
    return Rendered(f"{_run_summary(value)}\n")


def run_list(value: ops.RunList, view: View) -> Rendered:
    return Rendered(table(value.runs), more(value.cursor) if value.runs else ["no runs yet"])


def table(runs: Sequence[ops.RunInList]) -> str:
    """Return one line for each run."""
    return aligned(
        [
            run.id,
            line(run.task),
            line(run.title),
            _painted_status(run),
            run.strategy,
            when(run.created_at),
            line(run.note),
        ]
        for run in runs
    )


def run_view(value: ops.RunView, view: View) -> Rendered:
    """Render the run and its task graph."""
    lines = picture(value, at=datetime.now(UTC), columns=view.width, rows=0 if not view.tty else _rows_max)
    discovered = [f"discovered: {line(task.ref)}  {task.status}  {line(task.title)}" for task in value.found]
    return Rendered("\n".join([_run_summary(value), *lines, *discovered]) + "\n")


def changed(before: ops.RunView, after: ops.RunView) -> Rendered:
    """Render the changes since `before`, one line for each task."""
    lines = list(changes(before, after).values())
    if after.status is not before.status or (after.note and after.note != before.note):
        lines.append(f"{_run_summary(after)}  {line(after.note)}".rstrip())
        lines += [location] if (location := landed(after)) else []
    return Rendered("".join(f"{text}\n" for text in lines))


def _run_summary(value: Run) -> str:
    return f"{value.id}  {_painted_status(value)}  {value.strategy}"


def _painted_status(value: Run) -> str:
    return paint(value.status, _COLORS.get(value.status, ""))
