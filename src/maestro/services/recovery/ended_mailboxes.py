"""Settle the mailboxes of ended sessions: reroute, expire or confirm the unread mail, however a session ended.

Each rerouted or expired delivery gets a reason.
"""

from __future__ import annotations

from datetime import datetime

from maestro.core import limits
from maestro.domain import manifests
from maestro.domain.callers import SERVER_CALLER, SERVER_NAME
from maestro.domain.events import EventKind, NewEvent
from maestro.domain.messages import ReceiptStep, ReceivedMessage, passes_to_successor
from maestro.domain.sessions import Session, SessionStatus
from maestro.services.issues import recipients
from maestro.services.mail import receipts, routing
from maestro.services.mail.create import MailTarget
from maestro.store.base import Store, Tx
from maestro.store.repositories.deliveries import MessageFilter


class EndedMailboxJob:
    """A job that settles the mailbox of an ended session in each round, in bounded batches."""

    name = "ended-mailboxes"

    def __init__(self, store: Store) -> None:
        self._store = store

    async def run_once(self) -> datetime | None:
        unsettled, now = await self._store.read(
            lambda tx: (tx.sessions.list_with_unsettled_mail(limit=1), tx.at), quick=True
        )
        if not unsettled:
            return None
        await self._store.write(lambda tx: _settle_mailbox(tx, unsettled[0]))
        return now


def _settle_mailbox(tx: Tx, session: Session) -> None:
    """Reroute, expire or confirm a batch of the session's unread deliveries."""
    if tx.sessions.is_live(session.id):
        return  # a session that was marked lost has reported again, and keeps its mail
    batch_size = limits.job_batch_rows_max
    mailbox, everything = session.id, MessageFilter()
    unread = tx.deliveries.list_offered(mailbox, reader=mailbox, wanted=everything, limit=batch_size)
    unread += tx.deliveries.list_partly_shown(
        mailbox, reader=mailbox, wanted=everything, limit=batch_size - len(unread)
    )
    stand_in = routing.route_to_session(tx, session.id)
    directive_id = _directive_id(tx, session)
    for message in unread:
        if message.id == directive_id:
            _expire(tx, session, message, f"{session.name} has ended ({session.status}); this was its own directive")
        elif _was_pushed(tx, message):
            receipts.record_step(tx, SERVER_CALLER, ReceiptStep.READ, mailbox, message.seq, via="assumed")
        else:
            _reroute(tx, session, message, _new_recipient(tx, session, message, stand_in))
    if len(unread) < batch_size:
        tx.sessions.mark_mail_settled(session.id)


def _new_recipient(tx: Tx, session: Session, message: ReceivedMessage, stand_in: MailTarget) -> MailTarget:
    """Return the recipient that replaces the ended session.

    Mail about an issue stays in the project, because another agent of the project continues the issue.
    """
    issue = tx.issues.of_thread(message.thread_id) if message.task_id else None
    return recipients.redirect_to_project(tx, session.id, session.project_id, stand_in) if issue else stand_in


def _directive_id(tx: Tx, session: Session) -> str | None:
    """Return the message id of the session's directive. No stand-in needs a directive, and the manifest keeps it."""
    data = tx.spawns.get_manifest(session.id)
    directive = manifests.decode_manifest(data).directive if data else None
    return directive.message_id if directive else None


def _was_pushed(tx: Tx, message: ReceivedMessage) -> bool:
    """Return whether the program got the message as a prompt: Maestro then assumes and records that it was read."""
    delivery = tx.deliveries.get(message.mailbox, message.seq)
    return delivery is not None and delivery.via == "prompt"


def _expire(tx: Tx, session: Session, message: ReceivedMessage, reason: str) -> None:
    tx.deliveries.expire(session.id, message.seq, via="ended", reason=reason, at=tx.at)
    tx.deliveries.close(session.id, message.seq)
    data = {"from": session.id, "to": [], "reason": reason}
    tx.log(NewEvent(EventKind.MAIL_EXPIRED, message.id, session.project_id, data), actor=SERVER_NAME)


def _reroute(tx: Tx, session: Session, message: ReceivedMessage, target: MailTarget) -> None:
    """Deliver the message to the stand-in. A message only for the session expires, which its sender can see."""
    reason = target.reason or f"{session.name} has ended ({session.status})"
    if not passes_to_successor(message, is_work_done=session.status is SessionStatus.COMPLETED):
        _expire(tx, session, message, reason)
        return
    tx.deliveries.insert(
        target.mailbox,
        message.seq,
        priority=message.priority,
        type=message.type,
        project_id=target.project_id,
        reason=reason,
    )
    tx.deliveries.expire(session.id, message.seq, via="rerouted", reason=reason, at=tx.at)
    tx.deliveries.close(session.id, message.seq)
    data = {"from": session.id, "to": [target.mailbox], "reason": reason}
    tx.log(NewEvent(EventKind.MAIL_REROUTED, message.id, session.project_id, data), actor=SERVER_NAME)
