"""Runs as text: a line for each, and a picture of one."""

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
    return Rendered(f"{_words(value)}\n")


def run_list(value: ops.RunList, view: View) -> Rendered:
    return Rendered(table(value.runs), more(value.cursor) if value.runs else ["no runs yet"])


def table(found: Sequence[ops.RunInList]) -> str:
    """One line for each run."""
    return aligned(
        [one.id, line(one.task), line(one.title), _status(one), one.strategy, when(one.created_at), line(one.note)]
        for one in found
    )


def run_view(value: ops.RunView, view: View) -> Rendered:
    """The run and its graph."""
    lines = picture(value, at=datetime.now(UTC), columns=view.width, rows=0 if not view.tty else _rows_max)
    found = [f"found on the way: {line(one.ref)}  {one.status}  {line(one.title)}" for one in value.found]
    return Rendered("\n".join([_words(value), *lines, *found]) + "\n")


def changed(before: ops.RunView, after: ops.RunView) -> Rendered:
    """What is different now, one line a task."""
    lines = list(changes(before, after).values())
    if after.status is not before.status or (after.note and after.note != before.note):
        lines.append(f"{_words(after)}  {line(after.note)}".rstrip())
        lines += [where] if (where := landed(after)) else []
    return Rendered("".join(f"{each}\n" for each in lines))


def _words(value: Run) -> str:
    return f"{value.id}  {_status(value)}  {value.strategy}"


def _status(value: Run) -> str:
    return paint(value.status, _COLORS.get(value.status, ""))
