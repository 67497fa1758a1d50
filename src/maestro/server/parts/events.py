"""The event log for callers, and the timelines of tasks, sessions and runs."""

from __future__ import annotations

from maestro.events.feed import Feed
from maestro.operations import server as server_ops
from maestro.operations import timeline as timeline_ops
from maestro.server.base import ServerBase
from maestro.server.dispatch import Binding
from maestro.server.part import Part
from maestro.services import timelines
from maestro.services.events import EventLog


def build_events(base: ServerBase) -> Part:
    event_log = EventLog(base.store, Feed(base.store, base.hub))
    return Part(
        bindings={
            server_ops.EVENTS.name: Binding(event_log.read_page, stream_answers=event_log.stream_events),
            timeline_ops.SHOW.name: Binding(timelines.show_timeline),
            timeline_ops.EXPORT.name: Binding(timelines.export_timeline),
        }
    )
