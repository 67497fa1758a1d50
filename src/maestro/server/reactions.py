"""React to the events of each commit: nudge background jobs, wake listeners, forget cached values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from maestro.domain.events import Event, EventKind
from maestro.server.jobs import JOBS_BY_EVENT

if TYPE_CHECKING:
    from maestro.server.app import Server

# These events do not invalidate cached callers.
_CALLER_UNCHANGED = (EventKind.SESSION_STATUS_CHANGED, EventKind.SESSION_REPORTED)


class Reactions:
    """The reactions of a server to events. They run on the event loop after each commit."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def react_to_events(self, events: Sequence[Event]) -> None:
        for kind in {event.kind for event in events}:
            self._react_to_kind(kind)
        for event in events:
            self._react_to_session_event(event)
        self._server.hub.publish(events)

    def _react_to_kind(self, kind: str) -> None:
        """React once to all events of a kind in the commit."""
        server = self._server
        for job in JOBS_BY_EVENT.get(kind, ()):
            server.background_jobs.nudge_job(job)
        if kind.startswith("mail."):
            return  # the most frequent events by far; they invalidate no cached value
        if kind.startswith("member.") or kind == EventKind.SESSION_ADOPTED:  # an adoption changes several sessions
            server.identities.forget_callers()
        if kind == EventKind.SESSION_ADOPTED:
            server.families.forget_families()
        if kind == EventKind.MEMBER_CHANGED:
            server.on_rights_change()
        if kind == EventKind.PROJECT_CHANGED:
            server.project_locator.forget_locations()

    def _react_to_session_event(self, event: Event) -> None:
        server, session_id = self._server, event.subject
        if not event.kind.startswith("session."):
            return
        server.identities.forget_processes()
        if event.kind not in _CALLER_UNCHANGED:
            server.identities.forget_callers(session_id)
        match event.kind:
            case EventKind.SESSION_ENDED | EventKind.SESSION_LOST:
                server.presence.forget_session(session_id)
                server.hook_handler.forget_session(session_id)
                server.on_session_end(session_id)
            case EventKind.SESSION_TURN_ENDED:
                server.hook_handler.handle_turn_end(session_id)
            case EventKind.SESSION_RESUMED:
                server.process_watch.forget_process_end(session_id)
                server.hook_handler.forget_session(session_id)
