"""Reroute or expire the unread mail of sessions that have ended. Each rerouted or expired delivery gets a reason."""

from __future__ import annotations

from datetime import datetime

from maestro.core import limits
from maestro.domain import manifests
from maestro.domain.callers import SERVER, THE_SERVER
from maestro.domain.events import Change, Kind
from maestro.domain.messages import Received, Step, outlives
from maestro.domain.sessions import Session, Status
from maestro.services.issues import sides
from maestro.services.mail import receipts, routing
from maestro.services.mail.post import Target
from maestro.store.base import Store, Tx
from maestro.store.repositories.deliveries import Wanted


class DeadLetters:
    """A job that settles the mailbox of an ended session in each round, in bounded batches."""

    name = "dead-letters"

    def __init__(self, store: Store) -> None:
        self._store = store

    async def run_once(self) -> datetime | None:
        unsettled, now = await self._store.read(lambda tx: (tx.sessions.unsettled(limit=1), tx.at), quick=True)
        if not unsettled:
            return None
        await self._store.write(lambda tx: _settle_mailbox(tx, unsettled[0]))
        return now


def _settle_mailbox(tx: Tx, session: Session) -> None:
    """Reroute, expire or confirm a batch of the session's unread deliveries."""
    if tx.sessions.is_live(session.id):
        return  # a session that was marked lost has reported again, and keeps its mail
    batch_size = limits.upkeep_batch_rows_max
    mailbox, everything = session.id, Wanted()
    unread = tx.deliveries.open_in(mailbox, reader=mailbox, wanted=everything, limit=batch_size)
    unread += tx.deliveries.begun_in(mailbox, reader=mailbox, wanted=everything, limit=batch_size - len(unread))
    stand_in = routing.to_session(tx, session.id)
    directive_id = _directive_id(tx, session)
    for message in unread:
        if message.id == directive_id:
            _expire(tx, session, message, f"{session.name} has ended ({session.status}); this was its own directive")
        elif _was_pushed(tx, message):
            receipts.take(tx, THE_SERVER, Step.READ, mailbox, message.seq, via="assumed")
        else:
            _reroute(tx, session, message, _new_recipient(tx, session, message, stand_in))
    if len(unread) < batch_size:
        tx.sessions.settle(session.id)


def _new_recipient(tx: Tx, session: Session, message: Received, stand_in: Target) -> Target:
    """Return the recipient that replaces the ended session.

    Mail about an issue stays in the project, because another agent of the project continues the issue.
    """
    issue = tx.issues.of_thread(message.thread_id) if message.task_id else None
    return sides.instead_of(tx, session.id, session.project_id, stand_in) if issue else stand_in


def _directive_id(tx: Tx, session: Session) -> str | None:
    """Return the message id of the session's directive. No stand-in needs a directive, and the manifest keeps it."""
    data = tx.spawns.manifest(session.id)
    directive = manifests.decode(data).directive if data else None
    return directive.message_id if directive else None


def _was_pushed(tx: Tx, message: Received) -> bool:
    """Return whether the program got the message as a prompt: Maestro then assumes and records that it was read."""
    delivery = tx.deliveries.get(message.box, message.seq)
    return delivery is not None and delivery.via == "prompt"


def _expire(tx: Tx, session: Session, message: Received, reason: str) -> None:
    tx.deliveries.expire(session.id, message.seq, via="ended", reason=reason, at=tx.at)
    tx.deliveries.close(session.id, message.seq)
    data = {"from": session.id, "to": [], "reason": reason}
    tx.log(Change(Kind.MAIL_EXPIRED, message.id, session.project_id, data), actor=SERVER)


def _reroute(tx: Tx, session: Session, message: Received, target: Target) -> None:
    """Deliver the message to the stand-in. A message only for the session expires, which its sender can see."""
    reason = target.reason or f"{session.name} has ended ({session.status})"
    if not outlives(message, was_done=session.status is Status.COMPLETED):
        _expire(tx, session, message, reason)
        return
    tx.deliveries.insert(
        target.box,
        message.seq,
        priority=message.priority,
        type=message.type,
        project_id=target.project_id,
        reason=reason,
    )
    tx.deliveries.expire(session.id, message.seq, via="rerouted", reason=reason, at=tx.at)
    tx.deliveries.close(session.id, message.seq)
    data = {"from": session.id, "to": [target.box], "reason": reason}
    tx.log(Change(Kind.MAIL_REROUTED, message.id, session.project_id, data), actor=SERVER)
