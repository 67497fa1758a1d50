"""Sends on what lay unread in the box of a session that has ended. Nothing is dropped without a word."""

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
    """One ended session after another, a bounded batch a round."""

    name = "dead-letters"

    def __init__(self, store: Store) -> None:
        self._store = store

    async def run_once(self) -> datetime | None:
        waiting, now = await self._store.read(lambda tx: (tx.sessions.unsettled(limit=1), tx.at), quick=True)
        if not waiting:
            return None
        await self._store.write(lambda tx: _settle(tx, waiting[0]))
        return now


def _settle(tx: Tx, session: Session) -> None:
    if tx.sessions.is_live(session.id):
        return  # it was called lost, and has spoken again since: its mail is its own
    many = limits.upkeep_batch_rows_max
    box, everything = session.id, Wanted()
    left = tx.deliveries.open_in(box, reader=box, wanted=everything, limit=many)
    left += tx.deliveries.begun_in(box, reader=box, wanted=everything, limit=many - len(left))
    target = routing.to_session(tx, session.id)
    directive = _directive(tx, session)
    for message in left:
        if message.id == directive:
            _expire(tx, session, message, f"{session.name} has ended ({session.status}); it was for it alone")
        elif _was_pushed(tx, message):
            receipts.take(tx, THE_SERVER, Step.READ, box, message.seq, via="assumed")
        else:
            _send_on(tx, session, message, _target(tx, session, message, target))
    if len(left) < many:
        tx.sessions.settle(session.id)


def _target(tx: Tx, session: Session, message: Received, usual: Target) -> Target:
    """What is about an issue stays in the project: another of its agents goes on with it."""
    issue = tx.issues.of_thread(message.thread_id) if message.task_id else None
    return sides.instead_of(tx, session.id, session.project_id, usual) if issue else usual


def _directive(tx: Tx, session: Session) -> str | None:
    """What a session was told when it was started: it is in its manifest, and says nothing to whoever stands in."""
    data = tx.spawns.manifest(session.id)
    told = manifests.decode(data).directive if data else None
    return told.message_id if told else None


def _was_pushed(tx: Tx, message: Received) -> bool:
    """Whether its program has had it as a prompt: that it was taken in is assumed, and said so."""
    found = tx.deliveries.get(message.box, message.seq)
    return found is not None and found.via == "prompt"


def _expire(tx: Tx, session: Session, message: Received, reason: str) -> None:
    tx.deliveries.expire(session.id, message.seq, via="ended", reason=reason, at=tx.at)
    tx.deliveries.close(session.id, message.seq)
    data = {"from": session.id, "to": [], "reason": reason}
    tx.log(Change(Kind.MAIL_EXPIRED, message.id, session.project_id, data), actor=SERVER)


def _send_on(tx: Tx, session: Session, message: Received, target: Target) -> None:
    """To whoever stands in; what concerned this session alone ends here, and its sender can see that it did."""
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
