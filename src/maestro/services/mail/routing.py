"""From an address to boxes. Mail for whoever is gone goes on to someone who is there, and says why."""

from __future__ import annotations

from maestro.core import errors, limits
from maestro.domain import addresses
from maestro.domain.addresses import Address, Kind
from maestro.domain.callers import Caller
from maestro.domain.messages import HUMAN
from maestro.domain.sessions import Mode
from maestro.domain.tasks import Task
from maestro.services.mail.post import Target
from maestro.services.scope import linked, project_of, task_of
from maestro.store.base import Tx
from maestro.store.repositories.sessions import Route

PERSON = Target(HUMAN, None, name=HUMAN)


def resolve(tx: Tx, caller: Caller, text: str, *, project: str) -> Target:
    """The box that an address leads to."""
    address = addresses.parse(text)
    match address.kind:
        case Kind.HUMAN:
            return PERSON
        case Kind.COORDINATOR:
            return coordinator_of(tx, caller, project=project)
        case Kind.SESSION:
            return _session(tx, caller, address, project)
        case Kind.MEMBER:
            return _member(tx, caller, address, project)
        case Kind.AGENT:
            return _agent(tx, address)
        case Kind.PROJECT:
            return _project(tx, caller, address, project)
        case Kind.TASK:
            return _task(tx, caller, task_of(tx, caller, address.name, project=project))
        case Kind.WORD:
            return _word(tx, caller, address, project)


def coordinator_of(tx: Tx, caller: Caller, *, project: str = "") -> Target:
    """A session's coordinator, or whoever stands in for it; for the person, the only one there is."""
    if caller.is_session:
        return to_session(tx, caller.parent_id) if caller.parent_id else PERSON
    owner = project_of(tx, caller, project)
    found = [
        session
        for session in tx.sessions.page(owner.id, after="", limit=limits.page_items_max, active=True)
        if session.mode is Mode.COORDINATE and session.parent_id is None
    ]
    if len(found) == 1:
        return Target(found[0].id, owner.id, name=found[0].name)
    if not found:
        raise errors.NotFound(f"{owner.name} has no coordinator.", hint="maestro session list --active")
    raise _ambiguous("coordinator", [f"session:{session.name}" for session in found])


def to_session(tx: Tx, session_id: str) -> Target:
    """A session's box; one that has ended sends on: to its successor, else its coordinator, else the person."""
    return along(tx, tx.sessions.route(session_id))


def along(tx: Tx, first: Route | None) -> Target:
    """Where a session's mail goes, from what is known of it on."""
    route = first
    for _ in range(limits.ancestry_depth_max):
        if first is None or route is None:
            break
        if route.takes_mail:
            reason = None if route is first else f"{first.name} has ended ({first.status}); it goes to {route.name}"
            return Target(route.id, route.project_id, reason, route.name)
        route = _next(tx, route)
    if first is None:
        return PERSON
    return Target(HUMAN, None, f"{first.name} has ended ({first.status}), and nobody above it is there", HUMAN)


def _task(tx: Tx, caller: Caller, task: Task) -> Target:
    """A task's conversation reaches whoever holds it; if nobody else does, whoever made it, or the project."""
    others = task.holder if task.holder != caller.name else None
    for name in (others, task.created_by if others is None else None):
        if name is None or name == caller.name:
            continue
        route = tx.sessions.route(name)
        if route is not None and route.is_live:
            return Target(route.id, route.project_id, name=route.name)
        if route is None and task.holder is not None:
            return PERSON
    return Target(task.project_id, task.project_id)


def _next(tx: Tx, route: Route) -> Route | None:
    above = route.successor_id or route.parent_id
    return tx.sessions.route(above) if above else None


def _session(tx: Tx, caller: Caller, address: Address, project: str) -> Target:
    route = tx.sessions.route(address.name)
    if route is not None:
        return along(tx, route)
    owner = project_of(tx, caller, project)
    found = tx.sessions.by_name(owner.id, address.name) or tx.sessions.ended_by_name(owner.id, address.name)
    if found is None:
        raise _unknown(address, "session", "maestro session list --active")
    return to_session(tx, found.id)


def _member(tx: Tx, caller: Caller, address: Address, project: str) -> Target:
    member = tx.members.get(address.name)
    if member is None:
        member = tx.members.by_name(project_of(tx, caller, project).id, address.name.lower())
    if member is None or member.archived:
        raise _unknown(address, "member", "maestro member list")
    return Target(member.id, member.project_id, name=f"@{member.name}")


def _agent(tx: Tx, address: Address) -> Target:
    """dave/vc: whoever works in that checkout."""
    workspace = tx.projects.workspace(address.name)
    if workspace is None:
        name, _, project_name = address.name.partition("/")
        owner = tx.projects.by_name(project_name.lower())
        workspace = tx.projects.workspace_by_name(owner.id, name) if owner else None
    if workspace is not None:
        return Target(workspace.id, workspace.project_id, name=workspace.address)
    owner = tx.projects.by_key(address.name)
    if owner is None:
        raise _unknown(address, "agent", "maestro project show NAME lists its checkouts")
    return Target(owner.id, owner.id, name=owner.name)


def _project(tx: Tx, caller: Caller, address: Address, project: str) -> Target:
    owner = project_of(tx, caller, address.name, here=project)
    return Target(owner.id, owner.id, name=owner.name)


def _word(tx: Tx, caller: Caller, address: Address, project: str) -> Target:
    """A bare word is a session of the project at hand or a project: if it could be both, it is neither."""
    here = project or caller.project_id
    owner = project_of(tx, caller, project) if here else None
    session = tx.sessions.by_name(owner.id, address.name) if owner else None
    named = linked(tx, caller, address.name, here=project) or tx.projects.by_name(address.name.lower())
    if session is not None and named is not None:
        raise _ambiguous(address.text, [f"session:{address.name}", f"project:{named.name}"])
    if session is not None:
        return Target(session.id, session.project_id, name=session.name)
    if named is not None:
        return Target(named.id, named.id, name=named.name)
    return _last_resort(tx, address, owner.id if owner else None)


def _last_resort(tx: Tx, address: Address, project_id: str | None) -> Target:
    if project_id is not None:
        ended = tx.sessions.ended_by_name(project_id, address.name)
        if ended is not None:
            return to_session(tx, ended.id)
        if tx.members.by_name(project_id, address.name.lower()) is not None:
            raise errors.NotFound(
                f"There is no session or project {address.text!r}, but a member.",
                hint=f"Write @{address.name.lower()} for the member's box.",
            )
    raise errors.NotFound(
        f"Nobody is called {address.text!r}.",
        hint="maestro session list --active, maestro project list and maestro member list show who is there.",
    )


def _unknown(address: Address, what: str, hint: str) -> errors.NotFound:
    return errors.NotFound(f"There is no {what} {address.name!r}.", hint=hint)


def _ambiguous(text: str, candidates: list[str]) -> errors.Ambiguous:
    return errors.Ambiguous(
        f"{text!r} could be {' or '.join(candidates)}.",
        hint=f"Write one of: {', '.join(candidates)}",
        data={"candidates": candidates},
    )
