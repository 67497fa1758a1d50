"""Render the status of a tracker as text."""

from __future__ import annotations

from maestro.domain.trackers import Kind
from maestro.operations.trackers import TrackerStatus
from maestro.surfaces.cli.render.base import Rendered, pairs, when
from maestro.surfaces.cli.render.style import View, line, paint


def status(value: TrackerStatus, view: View) -> Rendered:
    head = f"{paint(line(value.project), 'bold')}  {line(value.kind)} {line(value.version)}".rstrip() + "\n"
    if value.kind is Kind.BUILTIN:
        return Rendered(
            head + "  Maestro keeps the issues of this project\n", [line(value.hint)] if value.hint else []
        )
    behind = f"{value.behind_issues} issues, {value.behind_events} events"
    facts = [
        ("path", line(value.path)),
        ("chosen by", line(value.source)),
        ("issues", str(value.issues)),
        ("behind", behind if value.behind_issues or value.behind_events else "none"),
        ("last in sync", when(value.ok_at) if value.ok_at else "never"),
        ("last read", when(value.looked_at) if value.looked_at else "never"),
    ]
    if value.problem:
        facts.append(("problem", line(value.problem)))
    if value.failures:
        facts.append(("failed", f"{value.failures} in a row"))
    if value.retry_at:
        facts.append(("next attempt", when(value.retry_at)))
    parts = [head, pairs(facts, indent="  ")]
    if value.untold:
        rows = [(line(item.issue), f"{line(item.ref or '')} {line(item.problem)}".strip()) for item in value.untold]
        parts.append(f"\n{paint('refused', 'dim')}\n" + pairs(rows, indent="  "))
    return Rendered("".join(parts), ["a synchronisation is running"] if value.busy else [])
