"""Who may write to a project from outside. Whoever is refused is told why."""

from __future__ import annotations

from maestro.core import errors
from maestro.domain.callers import Caller
from maestro.domain.issues import admits
from maestro.domain.projects import Inbound, Project
from maestro.store.base import Tx

_WHY = {
    Inbound.CLOSED: "takes nothing from other projects",
    Inbound.KNOWN: "takes mail and issues only from projects that it knows",
}


def require(tx: Tx, caller: Caller, receiver: Project, sender_id: str | None) -> None:
    """The person writes everywhere; a session to its own project, and to those that take it."""
    if not caller.is_session or sender_id == receiver.id:
        return
    is_known = receiver.inbound is Inbound.KNOWN and sender_id is not None and knows(tx, receiver.id, sender_id)
    if admits(receiver, is_known=is_known):
        return
    sender = tx.projects.get(sender_id) if sender_id else None
    name = sender.name if sender else "another project"
    raise errors.NotPermitted(
        f"{receiver.name} {_WHY[receiver.inbound]}, and so nothing from {name} (inbound = {receiver.inbound}).",
        hint=f"Ask the person: `maestro project edit {receiver.name} --inbound open` lets you.",
        data={"project": receiver.name, "inbound": receiver.inbound.value, "from": name},
    )


def require_box(tx: Tx, caller: Caller, project_id: str | None) -> None:
    """The same for a box that belongs to a project."""
    if project_id is None or project_id == caller.project_id or not caller.is_session:
        return
    receiver = tx.projects.get(project_id)
    if receiver is not None:
        require(tx, caller, receiver, caller.project_id)


def knows(tx: Tx, receiver_id: str, sender_id: str) -> bool:
    """Whether a project has named another in one of its checkouts, or has turned to it before."""
    return tx.links.knows(receiver_id, sender_id) or tx.issues.has_opened(receiver_id, sender_id)
