"""Gather the facts for a session's primer in one transaction, with a few look-ups by key."""

from __future__ import annotations

from maestro.core import limits
from maestro.domain.callers import Caller, Role
from maestro.domain.manifests import AgentReach
from maestro.domain.projects import Project
from maestro.domain.sessions import ENDED_STATUSES, Contact, Session, contact_of
from maestro.domain.tasks import Task
from maestro.operations import primer as ops
from maestro.prompts import primer
from maestro.services.mail.create import own_mailboxes
from maestro.services.mail.reading import coordinator_contact
from maestro.store.base import Tx

_ITEMS_MAX = 50
_LINKS_MAX = 10


def read_primer(tx: Tx, caller: Caller, request: ops.ReadPrimer) -> ops.Primer:
    """Return the primer: the text with the facts that the caller must know now."""
    session = tx.sessions.get(caller.session_id) if caller.session_id else None
    project = tx.projects.get(caller.project_id) if caller.project_id else None
    facts = primer.PrimerFacts(
        name=session.name if session else caller.name,
        role=caller.role.value,
        human=caller.human,
        project=project.name if project else None,
        address=session.address if session else None,
        coordinator=_primer_contact(found) if (found := coordinator_contact(tx, caller)) else None,
        siblings=_siblings(tx, session),
        workers=_children(tx, session.id) if session else (),
        neighbours=_neighbours(tx, session),
        linked=_linked_projects(tx, session),
        held=tuple(map(_work_of, tx.tasks.of_holder(caller.name, limit=_ITEMS_MAX))),
        given=_assigned_work(tx, session),
        ready=_count_ready(tx, project),
        unread=sum(tx.deliveries.count_open(mailbox, reader=caller.name) for mailbox in own_mailboxes(caller)),
        leads=caller.role is not Role.WORKER,
    )
    return ops.Primer(text=primer.write_primer(facts, AgentReach.MCP if request.tools else AgentReach.COMMANDS))


def _count_ready(tx: Tx, project: Project | None) -> int:
    """Return the number of tasks that can be started, counted up to `_ITEMS_MAX`."""
    return len(tx.tasks.list_ready(project.id, parent_id=None, after=(-1, 0), limit=_ITEMS_MAX)) if project else 0


def _siblings(tx: Tx, session: Session | None) -> tuple[primer.PrimerContact, ...]:
    if session is None or session.parent_id is None:
        return ()
    return _children(tx, session.parent_id, without=session.id)


def _children(tx: Tx, parent_id: str, *, without: str = "") -> tuple[primer.PrimerContact, ...]:
    children = tx.sessions.list_children(parent_id, limit=_ITEMS_MAX)
    live = [session for session in children if session.id != without and session.status not in ENDED_STATUSES]
    return tuple(
        _primer_contact(contact_of(session, at=tx.at, seconds=limits.presence_online_seconds_max)) for session in live
    )


def _neighbours(tx: Tx, session: Session | None) -> tuple[primer.PrimerNeighbour, ...]:
    """Return the other live agents of the project, except the session's own coordinator, siblings and workers."""
    if session is None:
        return ()
    live = tx.sessions.list_page(session.project_id, after="", limit=_ITEMS_MAX, active=True)
    family = {session.id, session.parent_id}
    others = [
        other
        for other in live
        if other.id not in family
        and other.parent_id != session.id
        and (session.parent_id is None or other.parent_id != session.parent_id)
    ]
    return tuple(_neighbour(tx, other) for other in others)


def _neighbour(tx: Tx, session: Session) -> primer.PrimerNeighbour:
    held = [task for task in tx.tasks.of_holder(session.id, limit=1) if task.project_id == session.project_id]
    task = f"{held[0].ref} {held[0].title}" if held else ""
    return primer.PrimerNeighbour(name=session.name, address=session.address or "", task=task)


def _linked_projects(tx: Tx, session: Session | None) -> tuple[primer.PrimerProject, ...]:
    """Return the projects that the session's checkout names, with their agents that are online."""
    if session is None:
        return ()
    links = tx.links.of_workspace(session.workspace_id) if session.workspace_id else []
    return tuple(
        primer.PrimerProject(name=link.name, online=_online_names(tx, link.project_id))
        for link in (links or tx.links.of_project(session.project_id))[:_LINKS_MAX]
    )


def _online_names(tx: Tx, project_id: str) -> tuple[str, ...]:
    live = tx.sessions.list_page(project_id, after="", limit=_LINKS_MAX, active=True)
    contacts = (contact_of(session, at=tx.at, seconds=limits.presence_online_seconds_max) for session in live)
    return tuple(contact.name for contact in contacts if contact.fresh)


def _assigned_work(tx: Tx, session: Session | None) -> tuple[primer.PrimerTask, ...]:
    """Return the tasks that a session was started for and does not hold now."""
    tasks = [task for task_id in (session.tasks if session else []) if (task := tx.tasks.get(task_id))]
    return tuple(_work_of(task) for task in tasks if session is None or task.holder != session.id)


def _primer_contact(found: Contact) -> primer.PrimerContact:
    return primer.PrimerContact(name=found.name, status=found.status.value, silent=not found.fresh)


def _work_of(task: Task) -> primer.PrimerTask:
    return primer.PrimerTask(ref=task.ref, title=task.title, status="ready" if task.ready else task.status.value)
