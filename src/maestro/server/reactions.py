"""What follows from each commit: who is woken, and what is remembered and no longer true."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from maestro.domain.events import Event, Kind
from maestro.server.upkeep import NUDGED

if TYPE_CHECKING:
    from maestro.server.app import Server

# After these a session is who it was.
_SAME_SESSION = (Kind.SESSION_STATUS_CHANGED, Kind.SESSION_REPORTED)


class Reactions:
    """On the event loop, after each commit."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def react(self, events: Sequence[Event]) -> None:
        for kind in {event.kind for event in events}:
            self._to_kind(kind)
        for event in events:
            self._to_session(event)
        self._server.hub.publish(events)

    def _to_kind(self, kind: str) -> None:
        """However many of it there are."""
        server = self._server
        for job in NUDGED.get(kind, ()):
            server.upkeep.nudge(job)
        if kind.startswith("mail."):
            return  # the most frequent events by far, after which all that is remembered stays true
        if kind.startswith("member.") or kind == Kind.SESSION_ADOPTED:  # that one is about several
            server.identities.forget()
        if kind == Kind.SESSION_ADOPTED:
            server.families.forget()
        if kind == Kind.MEMBER_CHANGED:
            server.on_rights_change()
        if kind == Kind.PROJECT_CHANGED:
            server.places.forget()

    def _to_session(self, event: Event) -> None:
        server, session_id = self._server, event.subject
        if not event.kind.startswith("session."):
            return
        server.identities.forget_processes()
        if event.kind not in _SAME_SESSION:
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
