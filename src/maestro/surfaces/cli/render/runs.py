"""Runs as text: a line for each, and a picture of one."""

from __future__ import annotations

from datetime import UTC, datetime

from maestro.domain.runs import Run, RunStatus
from maestro.operations import runs as ops
from maestro.surfaces.cli.render.base import Rendered, more, when
from maestro.surfaces.cli.render.style import View, aligned, line, paint
from maestro.surfaces.cli.render.tasks import status_word

_COLORS = {RunStatus.RUNNING: "blue", RunStatus.COMPLETED: "green", RunStatus.FAILED: "red"}
_shown_max = 40


def run(value: Run, view: View) -> Rendered:
    return Rendered(f"{_words(value)}\n")


def run_list(value: ops.RunList, view: View) -> Rendered:
    rows = [[one.id, _status(one), one.strategy, when(one.created_at), line(one.note)] for one in value.runs]
    return Rendered(aligned(rows), more(value.cursor) if rows else ["no runs yet"])


def run_view(value: ops.RunView, view: View) -> Rendered:
    """Where each task stands: what runs first, then what is next, then the rest."""
    counts = ", ".join(f"{count} {word}" for word, count in sorted(value.counts.items()))
    head = f"{_words(value)}  {line(value.task)}  {counts}\n"
    ordered = sorted(value.tasks, key=lambda one: (one.since is None, not one.ready, one.ref))
    open_tasks = [one for one in ordered if one.status not in ("completed", "cancelled")] or ordered
    rows = [_row(one) for one in open_tasks[:_shown_max]]
    left = len(open_tasks) - _shown_max
    rest = f"  … and {left} more\n" if left > 0 else ""
    note = f"{line(value.note)}\n" if value.note else ""
    return Rendered(head + aligned(rows, indent="  ") + rest + note)


def _row(one: ops.RunTask) -> list[str]:
    who = line(one.session or "") if one.since else ""
    since = f"{(datetime.now(UTC) - one.since).total_seconds():.0f} s" if one.since else ""
    waits = f"waits on {', '.join(map(line, one.waits_on))}" if one.waits_on else line(one.note)
    tries = f"try {one.attempts}" if one.attempts > 1 else ""
    word = status_word("ready" if one.ready else one.status)
    return [line(one.ref), word, who, since, tries, line(one.title) + paint(f"  {waits}" if waits else "", "dim")]


def _words(value: Run) -> str:
    return f"{value.id}  {_status(value)}  {value.strategy}"


def _status(value: Run) -> str:
    return paint(value.status, _COLORS.get(value.status, ""))
