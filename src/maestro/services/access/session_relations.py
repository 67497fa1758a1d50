"""Find the session that a reference names, and check relations between sessions: which is above which."""

from __future__ import annotations

from maestro.core import errors, limits
from maestro.domain.callers import Caller, Role
from maestro.domain.sessions import Session
from maestro.domain.visibility import may_read
from maestro.services.access.scope import find_project
from maestro.store.base import Tx


def own_session(tx: Tx, caller: Caller) -> Session:
    """Return the caller's own session; refuse a caller that is no session."""
    session = tx.sessions.get(caller.session_id) if caller.session_id else None
    if session is None:
        raise errors.NotFound("You are not a session.", hint="Name a session, or set MAESTRO_TOKEN.")
    return session


def require_live_caller(tx: Tx, caller: Caller) -> None:
    """Refuse a session that has ended since its request: an ended session may neither write nor wait."""
    if caller.session_id is not None and not tx.sessions.is_live(caller.session_id):
        raise errors.NotAuthenticated("This session has ended.", hint="Register again: maestro session register")


def own_end_subjects(caller: Caller) -> list[str]:
    """Return the subject that tells a wait about the end of the caller's own session."""
    return [caller.session_id] if caller.session_id else []


def find_session(tx: Tx, caller: Caller, ref: str, *, project: str = "") -> Session:
    """Return a session by id, or by name in a project: the live session of the name, else the last session."""
    ref = ref.removeprefix("session:")
    session = tx.sessions.get(ref)
    if session is None and (project or caller.project_id):
        owner = find_project(tx, caller, project)
        session = tx.sessions.by_name(owner.id, ref) or tx.sessions.ended_by_name(owner.id, ref)
    if session is None:
        raise errors.NotFound(f"There is no session {ref!r}.", hint="List the sessions: maestro session list")
    return session


def is_same_or_above(tx: Tx, session_id: str | None, session: Session) -> bool:
    """Return whether `session_id` is the session itself, or somewhere above it."""
    above: Session | None = session
    for _ in range(limits.ancestry_depth_max):
        if above is None:
            break
        if above.id == session_id:
            return True
        above = tx.sessions.get(above.parent_id) if above.parent_id else None
    return False


def require_authority(tx: Tx, caller: Caller, session: Session, *, action: str) -> None:
    """Refuse a caller other than the person, the session itself, and the sessions above it."""
    if caller.role is Role.PERSON or is_same_or_above(tx, caller.session_id, session):
        return
    raise errors.NotPermitted(
        f"A session may {action} only itself and the sessions that it started, not {session.name}.",
        hint="Ask the person or the session's coordinator.",
    )


def require_same_project(tx: Tx, caller: Caller, session: Session, *, action: str) -> None:
    """Refuse a caller of another project: the texts of a session are only for its own project.

    No session of another project can be above it.
    """
    if may_read(caller, session.project_id):
        return
    project = tx.projects.get(session.project_id)
    name = project.name if project else session.project_id
    raise errors.NotPermitted(
        f"{session.name} belongs to the project {name}: only sessions of that project {action}.",
        hint=f"maestro session show {session.id} shows the session; maestro mail send {session.id} … writes to it.",
        data={"id": session.id, "project": name},
    )


def caller_of_mailbox(tx: Tx, caller: Caller, ref: str, *, project: str) -> Caller:
    """Return the caller that stands for a session whose inbox the present caller may read."""
    session = find_session(tx, caller, ref, project=project)
    require_authority(tx, caller, session, action="look into the inbox of")
    owner = tx.sessions.live_caller(session.id)
    if owner is None:
        raise errors.Conflict(
            f"{session.name} has ended; its mail was passed on.", hint="maestro mail search finds the mail."
        )
    return owner
