"""Decide which sessions of other projects may write to a project. A refusal names the reason."""

from __future__ import annotations

from maestro.core import errors
from maestro.domain.callers import Caller
from maestro.domain.issues import accepts_inbound
from maestro.domain.projects import InboundPolicy, Project
from maestro.store.base import Tx

_REASONS = {
    InboundPolicy.CLOSED: "takes no mail or issues from other projects",
    InboundPolicy.KNOWN: "takes mail and issues only from projects that it knows",
}


def require_inbound(tx: Tx, caller: Caller, receiver: Project, sender_id: str | None) -> None:
    """Refuse a session of a project that the receiver does not admit. The person may write to every project."""
    if not caller.is_session or sender_id == receiver.id:
        return
    is_known = (
        receiver.inbound is InboundPolicy.KNOWN
        and sender_id is not None
        and knows_project(tx, receiver.id, sender_id)
    )
    if accepts_inbound(receiver, is_known=is_known):
        return
    sender = tx.projects.get(sender_id) if sender_id else None
    name = sender.name if sender else "another project"
    raise errors.NotPermitted(
        f"{receiver.name} {_REASONS[receiver.inbound]}, so it refuses {name} (inbound = {receiver.inbound}).",
        hint=f"Ask the person to run `maestro project edit {receiver.name} --inbound open`.",
        data={"project": receiver.name, "inbound": receiver.inbound.value, "from": name},
    )


def require_mailbox_access(tx: Tx, caller: Caller, project_id: str | None) -> None:
    """Refuse a caller that may not write to a mailbox of the project."""
    if project_id is None or project_id == caller.project_id or not caller.is_session:
        return
    receiver = tx.projects.get(project_id)
    if receiver is not None:
        require_inbound(tx, caller, receiver, caller.project_id)


def knows_project(tx: Tx, receiver_id: str, sender_id: str) -> bool:
    """Return whether a checkout of the receiver links the sender, or the receiver has opened an issue there."""
    return tx.links.has_link_between(receiver_id, sender_id) or tx.issues.has_opened(receiver_id, sender_id)
