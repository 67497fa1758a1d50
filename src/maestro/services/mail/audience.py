"""Whom a broadcast reaches. Only `all` crosses into another coordinator's workers; nothing reaches its sender."""

from __future__ import annotations

from maestro.core import errors, limits
from maestro.domain.callers import Caller, Role
from maestro.domain.messages import Scope
from maestro.domain.projects import Project
from maestro.services.scope import may_write
from maestro.store.base import Tx

_MOST = limits.broadcast_recipients_max
_Named = tuple[str, str]


def of(tx: Tx, caller: Caller, scope: Scope, project: Project) -> list[_Named]:
    """The sessions in reach, with their names."""
    may_write(caller, project, what="broadcast")
    match scope:
        case Scope.ALL:
            return _everyone(tx, caller, project)
        case Scope.MY_WORKERS:
            return tx.sessions.ids_below(_own(caller, scope), limit=_MOST)
        case Scope.SIBLINGS:
            return _siblings(tx, caller, _own(caller, scope))
        case Scope.TEAM:
            return _team(tx, caller, _own(caller, scope))


def _everyone(tx: Tx, caller: Caller, project: Project) -> list[_Named]:
    if caller.is_session and (caller.role is not Role.COORDINATOR or caller.parent_id is not None):
        raise errors.NotPermitted(
            "Only the person or a coordinator with nobody above it writes to all.",
            hint="Say --scope my-workers, siblings or team.",
        )
    found = tx.sessions.ids_live(project.id, limit=_MOST)
    return [named for named in found if named[0] != caller.session_id]


def _siblings(tx: Tx, caller: Caller, session_id: str) -> list[_Named]:
    return tx.sessions.ids_siblings(session_id, caller.parent_id, limit=_MOST) if caller.parent_id else []


def _team(tx: Tx, caller: Caller, session_id: str) -> list[_Named]:
    """Those of the same team, else of the same member, as far as no other coordinator is above them."""
    if caller.member_id is None:
        raise errors.Invalid("You are no member of a team.", hint="Register with --member NAME.")
    found = tx.sessions.ids_of_teammates(caller.member_id, limit=_MOST)
    found = found or tx.sessions.ids_of_member(caller.member_id, limit=_MOST)
    around = [*_siblings(tx, caller, session_id), *tx.sessions.ids_below(session_id, limit=_MOST)]
    near = {caller.parent_id, *(other for other, _ in around)}
    return [
        named for named in found if named[0] != session_id and (named[0] in near or _both_alone(tx, caller, named))
    ]


def _both_alone(tx: Tx, caller: Caller, named: _Named) -> bool:
    """Whether neither the caller nor another has a coordinator."""
    route = tx.sessions.route(named[0]) if caller.parent_id is None else None
    return route is not None and route.parent_id is None


def _own(caller: Caller, scope: Scope) -> str:
    if caller.session_id is None:
        raise errors.Invalid(f"{scope} is for sessions.", hint="You reach everyone with --scope all.")
    return caller.session_id
