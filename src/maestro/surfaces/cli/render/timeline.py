"""A timeline as text: one line for each moment."""

from __future__ import annotations

from maestro.operations.timeline import Moment, Timeline
from maestro.surfaces.cli.render.base import Rendered, more, when
from maestro.surfaces.cli.render.style import View, aligned, line, paint

_TOLD = ("status", "outcome", "text", "subject", "reason", "command", "title", "holder")
_chars_max = 100


def timeline(value: Timeline, view: View) -> Rendered:
    rows = [
        [when(one.at), line(one.kind), line(one.what), line(one.who), paint(_said(one), "dim")]
        for one in value.moments
    ]
    return Rendered(aligned(rows), more(value.cursor) if rows else ["nothing happened yet"])


def _said(one: Moment) -> str:
    parts = [str(one.data[name]) for name in _TOLD if one.data.get(name)]
    return line("; ".join(parts))[:_chars_max]
