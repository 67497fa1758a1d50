"""Render a timeline as text: one line for each moment."""

from __future__ import annotations

from maestro.operations.timeline import Moment, Timeline
from maestro.surfaces.cli.render.base import Rendered, more, when
from maestro.surfaces.cli.render.style import View, aligned, line, paint

_SHOWN_FIELDS = ("status", "outcome", "text", "subject", "reason", "command", "title", "holder")
_chars_max = 100


def timeline(value: Timeline, view: View) -> Rendered:
    rows = [
        [when(moment.at), line(moment.kind), line(moment.what), line(moment.who), paint(_data_text(moment), "dim")]
        for moment in value.moments
    ]
    return Rendered(aligned(rows), more(value.cursor) if rows else ["no events yet"])


def _data_text(moment: Moment) -> str:
    parts = [str(moment.data[name]) for name in _SHOWN_FIELDS if moment.data.get(name)]
    return line("; ".join(parts))[:_chars_max]
