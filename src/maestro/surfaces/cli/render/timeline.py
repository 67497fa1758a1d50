"""Render a timeline as text: one line for each moment."""

from __future__ import annotations

from maestro.operations.timeline import Timeline, TimelineEvent
from maestro.surfaces.cli.render.base import Rendered, format_time, next_page_note
from maestro.surfaces.cli.render.style import View, align_rows, paint, safe_line

_SHOWN_FIELDS = ("status", "outcome", "text", "subject", "reason", "command", "title", "holder")
_chars_max = 100


def render_timeline(value: Timeline, view: View) -> Rendered:
    rows = [
        [
            format_time(moment.at),
            safe_line(moment.kind),
            safe_line(moment.what),
            safe_line(moment.who),
            paint(_data_text(moment), "dim"),
        ]
        for moment in value.moments
    ]
    return Rendered(align_rows(rows), next_page_note(value.cursor) if rows else ["no events yet"])


def _data_text(moment: TimelineEvent) -> str:
    parts = [str(moment.data[name]) for name in _SHOWN_FIELDS if moment.data.get(name)]
    return safe_line("; ".join(parts))[:_chars_max]
