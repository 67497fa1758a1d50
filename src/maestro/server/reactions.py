"""React to the events of each commit: nudge background jobs, wake listeners, forget cached values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from maestro.domain.events import Event, Kind
from maestro.server.upkeep import NUDGED

if TYPE_CHECKING:
    from maestro.server.app import Server

# These events do not invalidate cached callers.
_CALLER_UNCHANGED = (Kind.SESSION_STATUS_CHANGED, Kind.SESSION_REPORTED)


class Reactions:
    """The reactions of a server to events. They run on the event loop after each commit."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def react(self, events: Sequence[Event]) -> None:
        for kind in {event.kind for event in events}:
            self._react_to_kind(kind)
        for event in events:
            self._react_to_session_event(event)
        self._server.hub.publish(events)

    def _react_to_kind(self, kind: str) -> None:
        """React once to all events of a kind in the commit."""
        server = self._server
        for job in NUDGED.get(kind, ()):
            server.upkeep.nudge(job)
        if kind.startswith("mail."):
            return  # the most frequent events by far; they invalidate no cached value
        if kind.startswith("member.") or kind == Kind.SESSION_ADOPTED:  # an adoption changes several sessions
            server.identities.forget()
        if kind == Kind.SESSION_ADOPTED:
            server.families.forget()
        if kind == Kind.MEMBER_CHANGED:
            server.on_rights_change()
        if kind == Kind.PROJECT_CHANGED:
            server.places.forget()

    def _react_to_session_event(self, event: Event) -> None:
        server, session_id = self._server, event.subject
        if not event.kind.startswith("session."):
            return
        server.identities.forget_processes()
        if event.kind not in _CALLER_UNCHANGED:
            server.identities.forget(session_id)
        match event.kind:
            case Kind.SESSION_ENDED | Kind.SESSION_LOST:
                server.presence.forget(session_id)
                server.hook_desk.forget(session_id)
                server.on_session_end(session_id)
            case Kind.SESSION_TURN_ENDED:
                server.hook_desk.turn_ended(session_id)
            case Kind.SESSION_RESUMED:
                server.processes.forget(session_id)
                server.hook_desk.forget(session_id)
