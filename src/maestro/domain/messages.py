"""Mail: what was said, by whom, and how far it has come with each recipient.

A delivery is one recipient's side of a message, and never says more than is proven:

    sent ──► delivered ──► read ──► acknowledged
      │          └───────────────────────▲
      └──────────────────────────────────┘         sent, delivered ──► expired
"""

from __future__ import annotations

import enum
from datetime import datetime

import msgspec

from maestro.domain.tasks import Priority

HUMAN = "human"  # the person's box


class Type(enum.StrEnum):
    """What a message is for."""

    ASSIGNMENT = "assignment"
    STATUS_UPDATE = "status_update"
    QUERY = "query"
    RESPONSE = "response"
    DIRECTIVE = "directive"
    NOTIFICATION = "notification"


class Status(enum.StrEnum):
    """How far a message has come with one recipient."""

    SENT = "sent"
    DELIVERED = "delivered"
    READ = "read"
    ACKNOWLEDGED = "acknowledged"
    EXPIRED = "expired"


class Step(enum.StrEnum):
    """A receipt that a sender can wait for."""

    DELIVERED = "delivered"
    READ = "read"
    ACKNOWLEDGED = "acknowledged"


# From which states each step can be taken. Whoever says so has seen it, whatever the receipts say.
STEPS: dict[Step, frozenset[Status]] = {
    Step.DELIVERED: frozenset({Status.SENT}),
    Step.READ: frozenset({Status.SENT, Status.DELIVERED}),
    Step.ACKNOWLEDGED: frozenset({Status.SENT, Status.DELIVERED, Status.READ}),
}
_ORDER = {Status.SENT: 0, Status.DELIVERED: 1, Status.READ: 2, Status.ACKNOWLEDGED: 3}


class Scope(enum.StrEnum):
    """Whom a broadcast reaches; never its sender."""

    ALL = "all"
    MY_WORKERS = "my-workers"
    SIBLINGS = "siblings"
    TEAM = "team"


class SenderKind(enum.StrEnum):
    """What a sender is. The server found out; nobody can claim it."""

    SESSION = "session"
    PERSON = "person"
    MAESTRO = "maestro"
    TRACKER = "tracker"  # someone who wrote in a project's tracker: the name is what that says


def counted_priority(priority: Priority, kind: SenderKind, *, leaves_project: bool) -> Priority:
    """Return how urgent a message counts: an agent's mail to another project is `high` at most."""
    if priority is Priority.CRITICAL and kind is SenderKind.SESSION and leaves_project:
        return Priority.HIGH
    return priority


class Sender(msgspec.Struct, frozen=True):
    """Who said it, as the server attests."""

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
    type: Type
    priority: Priority
    subject: str
    body: str
    truncated: bool = False  # the body was cut: `mail show` has all of it
    sender: Sender
    to: list[str]
    scope: Scope | None
    task_id: str | None
    task: str | None
    hops: int
    attachments: list[Attachment] = []
    created_at: datetime


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """One recipient's side of a message."""

    recipient: str  # how the box is written as an address
    box: str
    status: Status
    via: str | None  # by what it came this far
    by: str | None  # the session that read it, where several share the box
    reason: str | None  # why it went another way than it was sent
    delivered_at: datetime | None
    read_at: datetime | None
    acknowledged_at: datetime | None
    expired_at: datetime | None


class Received(Message, frozen=True, kw_only=True):
    """A message as it lies in an inbox."""

    box: str
    status: Status
    reason: str | None
    claimed_by: str | None
    begun: bool = False  # too long for a list, and its beginning has come out before


def has_reached(status: Status, step: Step) -> bool:
    """Whether a delivery is at least this far."""
    return status is not Status.EXPIRED and _ORDER[status] >= _ORDER[Status(step.value)]


def is_shared(box: str) -> bool:
    """Whether several sessions look into a box: a member's, a workspace's or a project's."""
    return box.startswith(("mem_", "wsp_", "prj_"))


def closes(box: str, step: Step) -> bool:
    """Whether a step ends the offering: a project's mail is offered until someone claims or acknowledges it."""
    if step is Step.DELIVERED:
        return False
    return step is Step.ACKNOWLEDGED or not box.startswith("prj_")


def outlives(message: Message, *, was_done: bool) -> bool:
    """Whether what lay unread goes on to whoever stands in. A mere notice does not; what a worker told a coordinator
    does, unless that one's own work was done."""
    if message.type is not Type.NOTIFICATION:
        return True
    return message.sender.kind is SenderKind.SESSION and not was_done


def next_hops(parent: Message | None, *, sender: str, at: datetime, seconds: int) -> int:
    """How many times in a row a conversation was answered within moments: what two programs do, and people do not."""
    if parent is None or parent.sender.kind is SenderKind.PERSON or parent.sender.id == sender:
        return 0
    quick = (at - parent.created_at).total_seconds() <= seconds
    return parent.hops + 1 if quick else 0


def reply_subject(subject: str) -> str:
    return subject if subject.lower().startswith("re:") else f"Re: {subject}"
