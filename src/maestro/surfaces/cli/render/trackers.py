"""Trackers as text."""

from __future__ import annotations

from maestro.domain.trackers import Kind
from maestro.operations.trackers import TrackerStatus
from maestro.surfaces.cli.render.base import Rendered, pairs, when
from maestro.surfaces.cli.render.style import View, line, paint


def status(value: TrackerStatus, view: View) -> Rendered:
    head = f"{paint(line(value.project), 'bold')}  {line(value.kind)} {line(value.version)}".rstrip() + "\n"
    if value.kind is Kind.BUILTIN:
        return Rendered(head + "  its issues live in Maestro\n", [line(value.hint)] if value.hint else [])
    behind = f"{value.behind_issues} issues, {value.behind_events} events"
    facts = [
        ("path", line(value.path)),
        ("chosen by", line(value.source)),
        ("issues", str(value.issues)),
        ("behind", behind if value.behind_issues or value.behind_events else "nothing"),
        ("last in step", when(value.ok_at) if value.ok_at else "never"),
        ("last read", when(value.looked_at) if value.looked_at else "never"),
    ]
    if value.problem:
        facts.append(("problem", line(value.problem)))
    if value.failures:
        facts.append(("failed", f"{value.failures} in a row"))
    if value.retry_at:
        facts.append(("again", when(value.retry_at)))
    parts = [head, pairs(facts, indent="  ")]
    if value.untold:
        rows = [(line(one.issue), f"{line(one.ref or '')} {line(one.problem)}".strip()) for one in value.untold]
        parts.append(f"\n{paint('not taken', 'dim')}\n" + pairs(rows, indent="  "))
    return Rendered("".join(parts), ["it is being asked now"] if value.busy else [])
