"""Callers and their presence: the server identifies callers, and records their signs of life."""

from __future__ import annotations

from maestro.domain.events import EventKind
from maestro.server.base import ServerBase
from maestro.server.identities import Identities
from maestro.server.part import Part, Reaction
from maestro.server.settings import human_name
from maestro.services.presence.tracker import PresenceTracker

_SESSION_EVENTS = tuple(kind for kind in EventKind if kind.startswith("session."))
# These events do not invalidate cached callers.
_CALLER_UNCHANGED = (EventKind.SESSION_STATUS_CHANGED, EventKind.SESSION_REPORTED)
_CALLER_CHANGES = tuple(kind for kind in _SESSION_EVENTS if kind not in _CALLER_UNCHANGED)
# These events change several callers. An adoption changes the adopted sessions and the sessions below them.
_SEVERAL_CALLERS_CHANGE = (EventKind.MEMBER_CREATED, EventKind.MEMBER_CHANGED, EventKind.SESSION_ADOPTED)


class IdentityPart(Part, frozen=True, kw_only=True):
    """The identification of callers."""

    presence: PresenceTracker
    identities: Identities


def build_identity(base: ServerBase) -> IdentityPart:
    presence = PresenceTracker(base.clock)
    human = human_name(base.settings)
    identities = Identities(base.store, base.secrets, presence, human=human, home=base.home)
    return IdentityPart(
        presence=presence,
        identities=identities,
        reactions=(
            Reaction(_SEVERAL_CALLERS_CHANGE, lambda subject: identities.forget_callers()),
            Reaction(_SESSION_EVENTS, lambda session_id: identities.forget_processes()),
            Reaction(_CALLER_CHANGES, identities.forget_callers),
            Reaction((EventKind.SESSION_ENDED, EventKind.SESSION_LOST), presence.forget_session),
        ),
    )
