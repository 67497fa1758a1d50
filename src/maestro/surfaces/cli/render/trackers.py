"""Render the status of a tracker as text."""

from __future__ import annotations

from maestro.domain.trackers import TrackerKind
from maestro.operations.trackers import TrackerStatus
from maestro.surfaces.cli.render.base import Rendered, format_time, render_pairs
from maestro.surfaces.cli.render.style import View, paint, safe_line


def render_tracker_status(value: TrackerStatus, view: View) -> Rendered:
    head = (
        f"{paint(safe_line(value.project), 'bold')}  {safe_line(value.kind)} {safe_line(value.version)}".rstrip()
        + "\n"
    )
    if value.kind is TrackerKind.BUILTIN:
        return Rendered(
            head + "  Maestro keeps the issues of this project\n", [safe_line(value.hint)] if value.hint else []
        )
    behind = f"{value.behind_issues} issues, {value.behind_events} events"
    facts = [
        ("path", safe_line(value.path)),
        ("chosen by", safe_line(value.source)),
        ("issues", str(value.issues)),
        ("behind", behind if value.behind_issues or value.behind_events else "none"),
        ("last in sync", format_time(value.succeeded_at) if value.succeeded_at else "never"),
        ("last read", format_time(value.read_at) if value.read_at else "never"),
    ]
    if value.problem:
        facts.append(("problem", safe_line(value.problem)))
    if value.failures:
        facts.append(("failed", f"{value.failures} in a row"))
    if value.retry_at:
        facts.append(("next attempt", format_time(value.retry_at)))
    parts = [head, render_pairs(facts, indent="  ")]
    if value.unsynced:
        rows = [
            (safe_line(item.issue), f"{safe_line(item.ref or '')} {safe_line(item.problem)}".strip())
            for item in value.unsynced
        ]
        parts.append(f"\n{paint('refused', 'dim')}\n" + render_pairs(rows, indent="  "))
    return Rendered("".join(parts), ["a synchronisation is running"] if value.busy else [])
