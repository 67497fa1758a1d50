"""Mail: messages, their senders, and the delivery of a message to each recipient.

A delivery is the state of a message for one recipient. A status is set only with proof:

    sent ──► delivered ──► read ──► acknowledged
      │          └───────────────────────▲
      └──────────────────────────────────┘         sent, delivered ──► expired
"""

from __future__ import annotations

import enum
from datetime import datetime

import msgspec

from maestro.domain.priorities import Priority

HUMAN_MAILBOX = "human"  # the person's mailbox


class MessageType(enum.StrEnum):
    """The purpose of a message."""

    ASSIGNMENT = "assignment"
    STATUS_UPDATE = "status_update"
    QUERY = "query"
    RESPONSE = "response"
    DIRECTIVE = "directive"
    NOTIFICATION = "notification"


class MessageStatus(enum.StrEnum):
    """The status of a delivery: how far a message has come with one recipient."""

    SENT = "sent"
    DELIVERED = "delivered"
    READ = "read"
    ACKNOWLEDGED = "acknowledged"
    EXPIRED = "expired"


class ReceiptStep(enum.StrEnum):
    """A step of a delivery that a sender can wait for."""

    DELIVERED = "delivered"
    READ = "read"
    ACKNOWLEDGED = "acknowledged"


# The statuses from which each step is possible. A later step also proves the earlier ones, so steps may be skipped.
STATUSES_BEFORE_STEP: dict[ReceiptStep, frozenset[MessageStatus]] = {
    ReceiptStep.DELIVERED: frozenset({MessageStatus.SENT}),
    ReceiptStep.READ: frozenset({MessageStatus.SENT, MessageStatus.DELIVERED}),
    ReceiptStep.ACKNOWLEDGED: frozenset({MessageStatus.SENT, MessageStatus.DELIVERED, MessageStatus.READ}),
}
_ORDER = {MessageStatus.SENT: 0, MessageStatus.DELIVERED: 1, MessageStatus.READ: 2, MessageStatus.ACKNOWLEDGED: 3}


class BroadcastScope(enum.StrEnum):
    """The recipients of a broadcast. The sender is never among them."""

    ALL = "all"
    MY_WORKERS = "my-workers"
    SIBLINGS = "siblings"
    TEAM = "team"


class SenderKind(enum.StrEnum):
    """The kind of a sender. The server determines the kind; a request cannot claim it."""

    SESSION = "session"
    PERSON = "person"
    MAESTRO = "maestro"
    TRACKER = "tracker"  # a user of a project's tracker, under the name that the tracker gives


def effective_priority(priority: Priority, kind: SenderKind, *, leaves_project: bool) -> Priority:
    """Return the effective priority of a message: an agent's mail to another project is `high` at most."""
    if priority is Priority.CRITICAL and kind is SenderKind.SESSION and leaves_project:
        return Priority.HIGH
    return priority


class Sender(msgspec.Struct, frozen=True):
    """The sender of a message, as the server attests it."""

    kind: SenderKind
    id: str  # a session's id, or the person's name
    name: str
    address: str | None
    human: str
    project: str | None


class Attachment(msgspec.Struct, frozen=True):
    """A file that came with a message, without its content."""

    id: str
    message_id: str
    file_name: str
    bytes: int
    sha256: str


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """One message."""

    id: str
    seq: int
    thread_id: str
    parent_id: str | None
    type: MessageType
    priority: Priority
    subject: str
    body: str
    truncated: bool = False  # the body was cut; `mail show` shows the whole body
    sender: Sender
    to: list[str]
    scope: BroadcastScope | None
    task_id: str | None
    task: str | None  # the reference of the task; None also for a message that was just posted
    hops: int
    attachments: list[Attachment] = []
    created_at: datetime


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a message for one recipient."""

    recipient: str  # the address of the mailbox
    mailbox: str
    status: MessageStatus
    via: str | None  # the means by which the message reached this status
    by: str | None  # the session that read the message, if several sessions share the mailbox
    reason: str | None  # why the message went to another mailbox than the sender's choice
    delivered_at: datetime | None
    read_at: datetime | None
    acknowledged_at: datetime | None
    expired_at: datetime | None


class ReceivedMessage(Message, frozen=True, kw_only=True):
    """A message with its delivery, as an inbox lists it."""

    mailbox: str
    status: MessageStatus
    reason: str | None
    claimed_by: str | None
    is_partly_shown: bool = False  # the body is too long for a list, and an earlier list has shown its beginning


def has_reached(status: MessageStatus, step: ReceiptStep) -> bool:
    """Return whether a delivery has reached the step or a later one."""
    return status is not MessageStatus.EXPIRED and _ORDER[status] >= _ORDER[MessageStatus(step.value)]


def is_shared_mailbox(mailbox: str) -> bool:
    """Return whether several sessions read a mailbox: a member's, a workspace's or a project's."""
    return mailbox.startswith(("mem_", "wsp_", "prj_"))


def ends_offer(mailbox: str, step: ReceiptStep) -> bool:
    """Return whether a mailbox stops to offer a message after a step.

    A project's mailbox offers a message until an agent claims or acknowledges it. Other mailboxes stop once it is
    read.
    """
    if step is ReceiptStep.DELIVERED:
        return False
    return step is ReceiptStep.ACKNOWLEDGED or not mailbox.startswith("prj_")


def passes_to_successor(message: Message, *, is_work_done: bool) -> bool:
    """Return whether an unread message goes on to the successor of its recipient.

    A notification does not, with one exception: a session's notification does, unless the recipient's work was done.
    """
    if message.type is not MessageType.NOTIFICATION:
        return True
    return message.sender.kind is SenderKind.SESSION and not is_work_done


def next_hop_count(parent: Message | None, *, sender: str, at: datetime, seconds: int) -> int:
    """Return how many quick answers in a row the new message would be.

    Programs answer within moments, people do not.
    """
    if parent is None or parent.sender.kind is SenderKind.PERSON or parent.sender.id == sender:
        return 0
    is_quick = (at - parent.created_at).total_seconds() <= seconds
    return parent.hops + 1 if is_quick else 0


def reply_subject(subject: str) -> str:
    return subject if subject.lower().startswith("re:") else f"Re: {subject}"
