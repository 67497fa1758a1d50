"""Mail threads: which messages a caller may see, and which session has claimed a thread."""

from __future__ import annotations

from maestro.core import errors, ids, limits
from maestro.domain.callers import Caller, Role
from maestro.domain.events import EventKind, NewEvent
from maestro.domain.messages import Message
from maestro.domain.sessions import Session
from maestro.operations import mail_shapes as ops
from maestro.services.mail.create import own_mailboxes
from maestro.store.base import Tx


def find_visible_message(tx: Tx, caller: Caller, message_id: str) -> Message:
    """Return a message that the caller may see, or raise `NotFound`."""
    message = tx.mail.get(message_id) if ids.is_id(message_id, "msg") else None
    if message is None or not may_see_message(tx, caller, message):
        raise errors.NotFound(
            f"There is no message {message_id!r}.", hint="List your messages: maestro mail inbox --all"
        )
    return message


def may_see_message(tx: Tx, caller: Caller, message: Message) -> bool:
    """Return whether the caller may see a message.

    The person may see every message, a session only messages that its project sent or received.
    """
    if caller.role is Role.PERSON or message.sender.id == caller.name:
        return True
    return tx.mail.is_visible(message.id, caller.project_id or "")


def claim_thread(tx: Tx, caller: Caller, request: ops.OneThread) -> ops.ThreadClaim:
    """Claim a thread for the caller. Only a recipient or the person may claim a thread; its sender may not."""
    thread_id = find_visible_message(tx, caller, request.id).thread_id
    was_received = any(tx.deliveries.has_thread_in_mailbox(thread_id, mailbox) for mailbox in own_mailboxes(caller))
    if caller.role is not Role.PERSON and not was_received:
        raise errors.NotPermitted(
            "You received no message of this thread: only a recipient may claim a thread.",
            hint=f"See the recipients: maestro mail status {request.id}",
            data={"thread_id": thread_id},
        )
    return claim_thread_for(tx, caller, thread_id)


def claim_thread_for(tx: Tx, caller: Caller, thread_id: str, *, ignore_conflict: bool = False) -> ops.ThreadClaim:
    """Claim a free thread; refuse a thread of another session.

    With `ignore_conflict`, a thread of another session stays with the other session, without an error.
    """
    if tx.deliveries.claim_thread(thread_id, caller.name, at=tx.at):
        tx.log(
            NewEvent(EventKind.THREAD_CLAIMED, thread_id, caller.project_id, {"by": caller.name}), actor=caller.name
        )
        return ops.ThreadClaim(thread_id=thread_id, claimed_by=caller.name)
    holder = tx.deliveries.thread_holder(thread_id)
    if holder != caller.name and not ignore_conflict:
        route = tx.sessions.mail_route(holder or "")
        raise errors.Conflict(
            f"{route.name if route else holder} has already claimed this thread.",
            hint="Leave the thread to that session, or write to the session.",
            data={"thread_id": thread_id, "claimed_by": holder},
        )
    return ops.ThreadClaim(thread_id=thread_id, claimed_by=holder)


def release_thread(tx: Tx, caller: Caller, request: ops.OneThread) -> ops.ThreadClaim:
    thread_id = find_visible_message(tx, caller, request.id).thread_id
    holder = tx.deliveries.thread_holder(thread_id)
    if holder is None or (holder != caller.name and caller.role is not Role.PERSON):
        raise errors.Conflict(
            "You have not claimed this thread.",
            hint=f"See the holder: maestro mail thread {request.id}",
            data={"claimed_by": holder},
        )
    release_held_thread(tx, holder, thread_id, actor=caller.name)
    return ops.ThreadClaim(thread_id=thread_id, claimed_by=None)


def release_all_threads(tx: Tx, session_id: str, *, actor: str) -> None:
    """Release all threads of a session that has ended."""
    while held := tx.deliveries.threads_held_by(session_id, limit=limits.job_batch_rows_max):
        for thread_id in held:
            release_held_thread(tx, session_id, thread_id, actor=actor)


def free_thread(tx: Tx, thread_id: str, *, actor: str) -> None:
    """Release a thread, if any session holds the thread."""
    holder = tx.deliveries.thread_holder(thread_id)
    if holder is not None:
        release_held_thread(tx, holder, thread_id, actor=actor)


def hand_thread_to(tx: Tx, thread_id: str, holder: str, *, project_id: str, actor: str) -> None:
    """Take a thread from the old holder, and give the thread to the session that holds the task of the thread."""
    old_holder = tx.deliveries.thread_holder(thread_id)
    if old_holder == holder:
        return
    if old_holder is not None:
        tx.deliveries.release_thread(thread_id, old_holder)
    tx.deliveries.claim_thread(thread_id, holder, at=tx.at)
    tx.log(NewEvent(EventKind.THREAD_CLAIMED, thread_id, project_id, {"by": holder}), actor=actor)


def release_held_thread(tx: Tx, holder: str, thread_id: str, *, actor: str) -> None:
    """Release a thread from its holder, and offer the messages to all recipients again."""
    tx.deliveries.release_thread(thread_id, holder)
    tx.deliveries.offer_thread_again(thread_id)
    # The event names the mailboxes, because waits on these mailboxes must see the released messages.
    data = {"by": holder, "to": tx.deliveries.shared_mailboxes_of_thread(thread_id)}
    tx.log(NewEvent(EventKind.THREAD_RELEASED, thread_id, None, data), actor=actor)


def release_threads_of_ended(tx: Tx, session: Session, caller: Caller) -> None:
    """Release the threads that an ended session had claimed."""
    release_all_threads(tx, session.id, actor=caller.name)
