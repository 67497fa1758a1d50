"""Conversations: all of one by any of its messages, and who has claimed it."""

from __future__ import annotations

from maestro.core import errors, ids, limits
from maestro.domain.callers import Caller, Role
from maestro.domain.events import Change, Kind
from maestro.domain.messages import Message
from maestro.operations import mail_shapes as ops
from maestro.services.mail.post import own_boxes
from maestro.store.base import Tx


def message_of(tx: Tx, caller: Caller, message_id: str) -> Message:
    """A message that the caller may see."""
    message = tx.mail.get(message_id) if ids.is_id(message_id, "msg") else None
    if message is None or not may_see(tx, caller, message):
        raise errors.NotFound(f"There is no message {message_id!r}.", hint="maestro mail inbox --all")
    return message


def may_see(tx: Tx, caller: Caller, message: Message) -> bool:
    """The person any message, a session what its project sent or got."""
    if caller.role is Role.PERSON or message.sender.id == caller.name:
        return True
    return tx.mail.is_visible(message.id, caller.project_id or "")


def claim(tx: Tx, caller: Caller, request: ops.OneThread) -> ops.ThreadClaim:
    """For whoever it came to: who only sent it has nothing to take from those whom it is for."""
    thread_id = message_of(tx, caller, request.id).thread_id
    has_come = any(tx.deliveries.has_come(thread_id, box) for box in own_boxes(caller))
    if caller.role is not Role.PERSON and not has_come:
        raise errors.NotPermitted(
            "Nothing of this conversation has come to you: whoever it went to claims it.",
            hint=f"maestro mail status {request.id} says how far it has come.",
            data={"thread_id": thread_id},
        )
    return claim_for(tx, caller, thread_id)


def claim_for(tx: Tx, caller: Caller, thread_id: str, *, quietly: bool = False) -> ops.ThreadClaim:
    """The first one has it. `quietly`: whoever has it already, has it."""
    if tx.deliveries.claim(thread_id, caller.name, at=tx.at):
        tx.log(Change(Kind.THREAD_CLAIMED, thread_id, caller.project_id, {"by": caller.name}), actor=caller.name)
        return ops.ThreadClaim(thread_id=thread_id, claimed_by=caller.name)
    holder = tx.deliveries.holder(thread_id)
    if holder != caller.name and not quietly:
        route = tx.sessions.route(holder or "")
        raise errors.Conflict(
            f"{route.name if route else holder} has this conversation already.",
            hint="Write to them, or leave it to them.",
            data={"thread_id": thread_id, "claimed_by": holder},
        )
    return ops.ThreadClaim(thread_id=thread_id, claimed_by=holder)


def release(tx: Tx, caller: Caller, request: ops.OneThread) -> ops.ThreadClaim:
    thread_id = message_of(tx, caller, request.id).thread_id
    holder = tx.deliveries.holder(thread_id)
    if holder is None or (holder != caller.name and caller.role is not Role.PERSON):
        raise errors.Conflict("You do not have this conversation.", data={"claimed_by": holder})
    let_go(tx, holder, thread_id, actor=caller.name)
    return ops.ThreadClaim(thread_id=thread_id, claimed_by=None)


def release_all(tx: Tx, session_id: str, *, actor: str) -> None:
    """What an ended session had is free again."""
    while held := tx.deliveries.held(session_id, limit=limits.upkeep_batch_rows_max):
        for thread_id in held:
            let_go(tx, session_id, thread_id, actor=actor)


def let_go_of(tx: Tx, thread_id: str, *, actor: str) -> None:
    """Whoever had it has it no longer."""
    holder = tx.deliveries.holder(thread_id)
    if holder is not None:
        let_go(tx, holder, thread_id, actor=actor)


def hand_to(tx: Tx, thread_id: str, holder: str, *, project_id: str, actor: str) -> None:
    """Give a conversation to whoever has the work that it is about."""
    had = tx.deliveries.holder(thread_id)
    if had == holder:
        return
    if had is not None:
        tx.deliveries.release(thread_id, had)
    tx.deliveries.claim(thread_id, holder, at=tx.at)
    tx.log(Change(Kind.THREAD_CLAIMED, thread_id, project_id, {"by": holder}), actor=actor)


def let_go(tx: Tx, holder: str, thread_id: str, *, actor: str) -> None:
    tx.deliveries.release(thread_id, holder)
    tx.deliveries.unsee(thread_id)
    # Whoever waits for mail of these boxes is woken: it is on offer again.
    data = {"by": holder, "to": tx.deliveries.boxes_of_thread(thread_id)}
    tx.log(Change(Kind.THREAD_RELEASED, thread_id, None, data), actor=actor)
