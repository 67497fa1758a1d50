"""Render a timeline as text: one line for each event."""

from __future__ import annotations

from maestro.operations.timeline import Timeline, TimelineEvent
from maestro.surfaces.cli.render.base import Rendered, format_time, next_page_note
from maestro.surfaces.cli.render.style import View, align_rows, paint, safe_line

_SHOWN_FIELDS = ("status", "outcome", "text", "subject", "reason", "command", "title", "holder")
_chars_max = 100


def render_timeline(value: Timeline, view: View) -> Rendered:
    rows = [
        [
            format_time(event.at),
            safe_line(event.kind),
            safe_line(event.subject),
            safe_line(event.actor),
            paint(_data_text(event), "dim"),
        ]
        for event in value.events
    ]
    return Rendered(align_rows(rows), next_page_note(value.cursor) if rows else ["no events yet"])


def _data_text(event: TimelineEvent) -> str:
    parts = [str(event.data[name]) for name in _SHOWN_FIELDS if event.data.get(name)]
    return safe_line("; ".join(parts))[:_chars_max]
