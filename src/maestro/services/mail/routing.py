"""Resolve an address to a mailbox. Mail for a session that has ended goes to another recipient, with the reason."""

from __future__ import annotations

from maestro.core import errors, limits
from maestro.domain import addresses
from maestro.domain.addresses import Address, AddressKind
from maestro.domain.callers import Caller
from maestro.domain.messages import HUMAN_MAILBOX
from maestro.domain.sessions import SessionMode
from maestro.domain.tasks import Task
from maestro.services.access.scope import find_linked_project, find_project, find_task
from maestro.services.mail.create import MailTarget
from maestro.store.base import Tx
from maestro.store.repositories.sessions import MailRoute

PERSON_TARGET = MailTarget(HUMAN_MAILBOX, None, name=HUMAN_MAILBOX)


def resolve_address(tx: Tx, caller: Caller, text: str, *, project: str) -> MailTarget:
    """Return the mailbox that an address names."""
    address = addresses.parse_address(text)
    match address.kind:
        case AddressKind.HUMAN:
            return PERSON_TARGET
        case AddressKind.COORDINATOR:
            return route_to_coordinator(tx, caller, project=project)
        case AddressKind.SESSION:
            return _session_target(tx, caller, address, project)
        case AddressKind.MEMBER:
            return _member_target(tx, caller, address, project)
        case AddressKind.AGENT:
            return _workspace_target(tx, address)
        case AddressKind.PROJECT:
            return _project_target(tx, caller, address, project)
        case AddressKind.TASK:
            return _task_target(tx, caller, find_task(tx, caller, address.name, project=project))
        case AddressKind.BARE_NAME:
            return _bare_name_target(tx, caller, address, project)


def route_to_coordinator(tx: Tx, caller: Caller, *, project: str = "") -> MailTarget:
    """Return the mailbox of the caller's coordinator, or of the stand-in of an ended coordinator.

    For the person, the coordinator is the only active top-level coordinator of the project.
    """
    if caller.is_session:
        return route_to_session(tx, caller.parent_id) if caller.parent_id else PERSON_TARGET
    owner = find_project(tx, caller, project)
    coordinators = [
        session
        for session in tx.sessions.list_page(owner.id, after="", limit=limits.page_items_max, active=True)
        if session.mode is SessionMode.COORDINATE and session.parent_id is None
    ]
    if len(coordinators) == 1:
        return MailTarget(coordinators[0].id, owner.id, name=coordinators[0].name)
    if not coordinators:
        raise errors.NotFound(
            f"Project {owner.name} has no active coordinator.",
            hint="List the sessions: maestro session list --active",
        )
    raise _ambiguous_address("coordinator", [f"session:{session.name}" for session in coordinators])


def route_to_session(tx: Tx, session_id: str) -> MailTarget:
    """Return the mailbox for a session's mail.

    Mail for an ended session goes to its successor, else to its coordinator, else to the person.
    """
    return follow_route(tx, tx.sessions.mail_route(session_id))


def follow_route(tx: Tx, first: MailRoute | None) -> MailTarget:
    """Follow a session's route to the first session that takes mail, and return the mailbox of that session."""
    route = first
    for _ in range(limits.ancestry_depth_max):
        if first is None or route is None:
            break
        if route.takes_mail:
            reason = (
                None
                if route is first
                else f"{first.name} has ended ({first.status}); the message goes to {route.name}"
            )
            return MailTarget(route.id, route.project_id, reason, route.name)
        route = _next_route(tx, route)
    if first is None:
        return PERSON_TARGET
    return MailTarget(
        HUMAN_MAILBOX,
        None,
        f"{first.name} has ended ({first.status}), and no session above it is active",
        HUMAN_MAILBOX,
    )


def _task_target(tx: Tx, caller: Caller, task: Task) -> MailTarget:
    """Return the mailbox for mail to a task: of the holder, else of the creator, else of the project.

    The caller's own mailbox is left out.
    """
    other_holder = task.holder if task.holder != caller.name else None
    for name in (other_holder, task.created_by if other_holder is None else None):
        if name is None or name == caller.name:
            continue
        route = tx.sessions.mail_route(name)
        if route is not None and route.is_live:
            return MailTarget(route.id, route.project_id, name=route.name)
        if route is None and task.holder is not None:
            return PERSON_TARGET
    return MailTarget(task.project_id, task.project_id)


def _next_route(tx: Tx, route: MailRoute) -> MailRoute | None:
    next_id = route.successor_id or route.parent_id
    return tx.sessions.mail_route(next_id) if next_id else None


def _session_target(tx: Tx, caller: Caller, address: Address, project: str) -> MailTarget:
    route = tx.sessions.mail_route(address.name)
    if route is not None:
        return follow_route(tx, route)
    owner = find_project(tx, caller, project)
    session = tx.sessions.by_name(owner.id, address.name) or tx.sessions.ended_by_name(owner.id, address.name)
    if session is None:
        raise _unknown_recipient(address, "session", "List the sessions: maestro session list --active")
    return route_to_session(tx, session.id)


def _member_target(tx: Tx, caller: Caller, address: Address, project: str) -> MailTarget:
    member = tx.members.get(address.name)
    if member is None:
        member = tx.members.by_name(find_project(tx, caller, project).id, address.name.lower())
    if member is None or member.archived:
        raise _unknown_recipient(address, "member", "List the members: maestro member list")
    return MailTarget(member.id, member.project_id, name=f"@{member.name}")


def _workspace_target(tx: Tx, address: Address) -> MailTarget:
    """Return the mailbox of a workspace, e.g. `dave/vc`, or of a project whose key looks like a workspace address."""
    workspace = tx.projects.get_workspace(address.name)
    if workspace is None:
        name, _, project_name = address.name.partition("/")
        owner = tx.projects.by_name(project_name.lower())
        workspace = tx.projects.workspace_by_name(owner.id, name) if owner else None
    if workspace is not None:
        return MailTarget(workspace.id, workspace.project_id, name=workspace.address)
    owner = tx.projects.by_key(address.name)
    if owner is None:
        raise _unknown_recipient(address, "agent", _checkout_hint(tx, address))
    return MailTarget(owner.id, owner.id, name=owner.name)


def _checkout_hint(tx: Tx, address: Address) -> str:
    """Return the hint for an unknown checkout. Many people write the project first: `vc/dave`."""
    project_name, _, name = address.name.partition("/")
    owner = tx.projects.by_name(project_name.lower())
    if owner is not None and tx.projects.workspace_by_name(owner.id, name) is not None:
        return f"Did you mean {name}/{project_name}?"
    return "List the checkouts of a project: maestro project show NAME"


def _project_target(tx: Tx, caller: Caller, address: Address, project: str) -> MailTarget:
    owner = find_project(tx, caller, address.name, project_at_hand=project)
    return MailTarget(owner.id, owner.id, name=owner.name)


def _bare_name_target(tx: Tx, caller: Caller, address: Address, project: str) -> MailTarget:
    """Return the mailbox of a session or project; refuse a name that both a session and a project have."""
    project_at_hand = project or caller.project_id
    owner = find_project(tx, caller, project) if project_at_hand else None
    session = tx.sessions.by_name(owner.id, address.name) if owner else None
    named_project = find_linked_project(tx, caller, address.name, project_at_hand=project) or tx.projects.by_name(
        address.name.lower()
    )
    if session is not None and named_project is not None:
        raise _ambiguous_address(address.text, [f"session:{address.name}", f"project:{named_project.name}"])
    if session is not None:
        return MailTarget(session.id, session.project_id, name=session.name)
    if named_project is not None:
        return MailTarget(named_project.id, named_project.id, name=named_project.name)
    return _ended_session_target(tx, address, owner.id if owner else None)


def _ended_session_target(tx: Tx, address: Address, project_id: str | None) -> MailTarget:
    if project_id is not None:
        ended = tx.sessions.ended_by_name(project_id, address.name)
        if ended is not None:
            return route_to_session(tx, ended.id)
        if tx.members.by_name(project_id, address.name.lower()) is not None:
            raise errors.NotFound(
                f"There is no session or project {address.text!r}, but there is a member {address.name.lower()!r}.",
                hint=f"Write @{address.name.lower()} for the member's mailbox.",
            )
    raise errors.NotFound(
        f"There is no session, project or member {address.text!r}.",
        hint="List the names: maestro session list --active, maestro project list, maestro member list",
    )


def _unknown_recipient(address: Address, noun: str, hint: str) -> errors.NotFound:
    return errors.NotFound(f"There is no {noun} {address.name!r}.", hint=hint)


def _ambiguous_address(text: str, candidates: list[str]) -> errors.Ambiguous:
    return errors.Ambiguous(
        f"{text!r} is ambiguous: {' or '.join(candidates)}.",
        hint=f"Write one of: {', '.join(candidates)}",
        data={"candidates": candidates},
    )
