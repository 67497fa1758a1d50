"""Find the sessions that a broadcast reaches. Only `all` reaches workers of other coordinators; never the sender."""

from __future__ import annotations

from maestro.core import errors, limits
from maestro.domain.callers import Caller, Role
from maestro.domain.messages import BroadcastScope
from maestro.domain.projects import Project
from maestro.services.access.scope import require_own_project
from maestro.store.base import Tx
from maestro.store.repositories.sessions import SessionName
from maestro.text.choices import join_choices

_RECIPIENTS_MAX = limits.broadcast_recipients_max
_SCOPES_OF_EVERY_SESSION = [scope for scope in BroadcastScope if scope is not BroadcastScope.ALL]


def sessions_in_scope(tx: Tx, caller: Caller, scope: BroadcastScope, project: Project) -> list[SessionName]:
    """Return the ids and names of the sessions that a broadcast with `scope` reaches."""
    require_own_project(caller, project, action="broadcast")
    match scope:
        case BroadcastScope.ALL:
            return _all_sessions(tx, caller, project)
        case BroadcastScope.MY_WORKERS:
            return tx.sessions.ids_below(_own_session_id(caller, scope), limit=_RECIPIENTS_MAX)
        case BroadcastScope.SIBLINGS:
            return _sibling_sessions(tx, caller, _own_session_id(caller, scope))
        case BroadcastScope.TEAM:
            return _team_sessions(tx, caller, _own_session_id(caller, scope))


def _all_sessions(tx: Tx, caller: Caller, project: Project) -> list[SessionName]:
    if caller.is_session and (caller.role is not Role.COORDINATOR or caller.parent_id is not None):
        raise errors.NotPermitted(
            "Only the person or a top-level coordinator may broadcast to all.",
            hint=f"Use {join_choices(f'--scope {scope}' for scope in _SCOPES_OF_EVERY_SESSION)}.",
        )
    sessions = tx.sessions.ids_live(project.id, limit=_RECIPIENTS_MAX)
    return [session for session in sessions if session.id != caller.session_id]


def _sibling_sessions(tx: Tx, caller: Caller, session_id: str) -> list[SessionName]:
    return tx.sessions.ids_siblings(session_id, caller.parent_id, limit=_RECIPIENTS_MAX) if caller.parent_id else []


def _team_sessions(tx: Tx, caller: Caller, session_id: str) -> list[SessionName]:
    """Return the sessions of the caller's team, else of its member, without the workers of other coordinators."""
    if caller.member_id is None:
        raise errors.Invalid(
            "Your session has no member, so it belongs to no team.", hint="Register the session with --member NAME."
        )
    sessions = tx.sessions.ids_of_teammates(caller.member_id, limit=_RECIPIENTS_MAX)
    sessions = sessions or tx.sessions.ids_of_member(caller.member_id, limit=_RECIPIENTS_MAX)
    related = [*_sibling_sessions(tx, caller, session_id), *tx.sessions.ids_below(session_id, limit=_RECIPIENTS_MAX)]
    related_ids = {caller.parent_id, *(session.id for session in related)}
    return [
        session
        for session in sessions
        if session.id != session_id and (session.id in related_ids or _have_no_coordinator(tx, caller, session))
    ]


def _have_no_coordinator(tx: Tx, caller: Caller, session: SessionName) -> bool:
    """Return whether neither the caller nor the other session has a coordinator."""
    route = tx.sessions.mail_route(session.id) if caller.parent_id is None else None
    return route is not None and route.parent_id is None


def _own_session_id(caller: Caller, scope: BroadcastScope) -> str:
    if caller.session_id is None:
        raise errors.Invalid(f"Only a session can broadcast to {scope}.", hint="Use --scope all.")
    return caller.session_id
