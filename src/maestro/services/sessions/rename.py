"""Rename a session. Mail, tasks and runs refer to the session by its id, so only the name changes."""

from __future__ import annotations

from maestro.core import errors
from maestro.domain.callers import Caller, Role
from maestro.domain.events import EventKind, NewEvent
from maestro.domain.sessions import Session
from maestro.operations import session_settings as ops
from maestro.services.access import session_relations
from maestro.services.access.scope import find_project
from maestro.services.sessions.registration import require_free_name, require_usable_name
from maestro.services.sessions.views import require_live_session
from maestro.store.base import Tx


def rename_session(tx: Tx, caller: Caller, request: ops.RenameSession) -> Session:
    """Give a live session another name, for the person, the session itself or a session above it."""
    session = session_relations.find_session(tx, caller, request.id, project=request.project)
    require_live_session(session)
    if caller.role is not Role.PERSON and not session_relations.is_same_or_above(tx, caller.session_id, session):
        raise errors.NotPermitted(
            f"Only the person, {session.name} itself and the sessions above it may rename {session.name}."
        )
    if request.name == session.name:
        return session
    require_usable_name(request.name)
    require_free_name(tx, caller, find_project(tx, caller, session.project_id), request.name)
    tx.sessions.rename(session.id, request.name, at=tx.at)
    data = {"from": session.name, "name": request.name}
    tx.log(NewEvent(EventKind.SESSION_RENAMED, session.id, session.project_id, data), actor=caller.name)
    return tx.sessions.get(session.id) or session
