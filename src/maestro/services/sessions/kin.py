"""Which session is meant, and how sessions stand to each other: who is above whom."""

from __future__ import annotations

from maestro.core import errors, limits
from maestro.domain.callers import Caller, Role
from maestro.domain.sessions import Session
from maestro.domain.sight import may_read
from maestro.services.scope import project_of
from maestro.store.base import Tx


def own(tx: Tx, caller: Caller) -> Session:
    """The caller's own session."""
    session = tx.sessions.get(caller.session_id) if caller.session_id else None
    if session is None:
        raise errors.NotFound("You are not a session.", hint="Name one, or set MAESTRO_TOKEN.")
    return session


def require_live(tx: Tx, caller: Caller) -> None:
    """A session may have ended between its request and this moment: then it writes nothing more, nor waits on."""
    if caller.session_id is not None and not tx.sessions.is_live(caller.session_id):
        raise errors.NotAuthenticated("This session has ended.", hint="Register again: maestro session register")


def own_end(caller: Caller) -> list[str]:
    """What a wait listens to besides, so that it hears of its own session's end."""
    return [caller.session_id] if caller.session_id else []


def named(tx: Tx, caller: Caller, ref: str, *, project: str = "") -> Session:
    """A session by its id, or by its name in a project; the live one of a name, else the last that had it."""
    ref = ref.removeprefix("session:")
    session = tx.sessions.get(ref)
    if session is None and (project or caller.project_id):
        owner = project_of(tx, caller, project)
        session = tx.sessions.by_name(owner.id, ref) or tx.sessions.ended_by_name(owner.id, ref)
    if session is None:
        raise errors.NotFound(f"There is no session {ref!r}.", hint="maestro session list shows those there are.")
    return session


def is_above(tx: Tx, session_id: str | None, session: Session) -> bool:
    """Whether a session is another one, or somewhere above it."""
    above: Session | None = session
    for _ in range(limits.ancestry_depth_max):
        if above is None:
            break
        if above.id == session_id:
            return True
        above = tx.sessions.get(above.parent_id) if above.parent_id else None
    return False


def may_act_on(tx: Tx, caller: Caller, session: Session, *, what: str) -> None:
    """Oneself, or below oneself; the person may with any."""
    if caller.role is Role.PERSON or is_above(tx, caller.session_id, session):
        return
    raise errors.NotPermitted(f"A session may {what} itself and those it started, no others.")


def may_hear(tx: Tx, caller: Caller, session: Session, *, what: str) -> None:
    """What a session was told, and what it says, is for its own project; nobody of another one is above it."""
    if may_read(caller, session.project_id):
        return
    project = tx.projects.get(session.project_id)
    name = project.name if project else session.project_id
    raise errors.NotPermitted(
        f"{session.name} is of {name}: only sessions of that project {what}.",
        hint=f"maestro session show {session.id} says who it is; maestro mail send {session.id} … asks it.",
        data={"id": session.id, "project": name},
    )


def may_look_into(tx: Tx, caller: Caller, ref: str, *, project: str) -> Caller:
    """Someone whose inbox the caller may look into, as the caller that it would be."""
    session = named(tx, caller, ref, project=project)
    may_act_on(tx, caller, session, what="look into the inbox of")
    found = tx.sessions.caller(session.id)
    if found is None:
        raise errors.Conflict(f"{session.name} has ended; its mail went on.", hint="maestro mail search finds it.")
    return found
