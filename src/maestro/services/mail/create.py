"""Create messages: the message row, a delivery per mailbox, the attachments and the event. No other module does."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from maestro.core import ids, limits
from maestro.domain.callers import SERVER_NAME, Caller, Role
from maestro.domain.documents import StoredContent
from maestro.domain.events import EventKind, NewEvent
from maestro.domain.messages import (
    HUMAN_MAILBOX,
    Attachment,
    BroadcastScope,
    Message,
    MessageType,
    Sender,
    SenderKind,
    effective_priority,
)
from maestro.domain.tasks import Priority
from maestro.domain.trackers import TRACKER_PREFIX, is_tracker_person
from maestro.store.base import Tx
from maestro.store.repositories.mail import NewMessage
from maestro.text import redaction

_CRITICAL = Priority.CRITICAL  # a constant, because every message is compared with it and an enum look-up is slow


class MailTarget(msgspec.Struct, frozen=True):
    """A mailbox that gets a message. `reason` says why the mailbox differs from the address."""

    mailbox: str
    project_id: str | None
    reason: str | None = None
    name: str = ""


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """A message that is not stored yet."""

    sender: Sender
    project_id: str | None
    to: list[str]
    targets: Sequence[MailTarget]
    type: MessageType
    priority: Priority = Priority.NORMAL
    subject: str
    body: StoredContent
    preview: str = ""  # the beginning of a body that is stored in a file
    task_id: str | None = None
    parent: Message | None = None
    thread_id: str | None = None
    scope: BroadcastScope | None = None
    hops: int = 0
    attachments: Sequence[tuple[str, StoredContent]] = ()


class PostedMessage(msgspec.Struct, frozen=True):
    """A message that is stored."""

    id: str
    seq: int
    thread_id: str
    targets: list[MailTarget]


def post_message(tx: Tx, draft: Draft) -> PostedMessage:
    """Store a message with a delivery in each target mailbox."""
    if draft.priority is _CRITICAL:
        draft = msgspec.structs.replace(draft, priority=_counted_priority(draft))
    message_id = ids.new_id("msg", tx.at)
    thread_id = draft.thread_id or (draft.parent.thread_id if draft.parent else message_id)
    targets = {target.mailbox: target for target in draft.targets}
    seq = tx.mail.insert(
        NewMessage(
            id=message_id,
            thread_id=thread_id,
            parent_id=draft.parent.id if draft.parent else None,
            project_id=draft.project_id,
            type=draft.type,
            priority=draft.priority,
            subject=draft.subject,
            body=draft.body,
            preview=draft.preview,
            task_id=draft.task_id,
            sender=draft.sender,
            to=draft.to,
            scope=draft.scope,
            hops=draft.hops,
            attachments=len(draft.attachments),
            created_at=tx.at,
        )
    )
    mailboxes = [(target.mailbox, target.project_id, target.reason) for target in targets.values()]
    tx.deliveries.insert_many(seq, mailboxes, priority=draft.priority, type=draft.type)
    _store_attachments(tx, message_id, draft.attachments)
    _log_message(tx, draft, message_id, thread_id, list(targets))
    return PostedMessage(message_id, seq, thread_id, list(targets.values()))


def _counted_priority(draft: Draft) -> Priority:
    """Return the priority that counts: lower for an agent's critical message to another project."""
    leaves_project = any(target.project_id not in (None, draft.project_id) for target in draft.targets)
    return effective_priority(draft.priority, draft.sender.kind, leaves_project=leaves_project)


def _store_attachments(tx: Tx, message_id: str, files: Sequence[tuple[str, StoredContent]]) -> None:
    # Ids made at the same moment have a random order. Sorted ids keep the files in the order of the draft.
    attachment_ids = sorted(ids.new_id("att", tx.at) for _ in files)
    for attachment_id, (name, content) in zip(attachment_ids, files, strict=True):
        tx.mail.insert_attachment(Attachment(attachment_id, message_id, name, content.size, content.sha256), content)


def _log_message(tx: Tx, draft: Draft, message_id: str, thread_id: str, mailboxes: list[str]) -> None:
    data = {
        "from": draft.sender.id,
        "to": mailboxes,
        "type": draft.type._value_,
        "priority": draft.priority._value_,
        "subject": draft.subject,
        "thread": thread_id,
    }
    if draft.task_id:
        data["task"] = draft.task_id
    tx.log(NewEvent(EventKind.MAIL_SENT, message_id, draft.project_id, data), actor=draft.sender.id)


def sender_of(tx: Tx, caller: Caller) -> Sender:
    """Return the caller as a sender. Every field comes from the server's knowledge, none from the request."""
    project = tx.projects.get(caller.project_id) if caller.project_id else None
    name = caller.title or caller.name
    if is_tracker_person(caller.name):
        return Sender(SenderKind.TRACKER, caller.name, name.removeprefix(TRACKER_PREFIX), None, "", None)
    kind = SenderKind.SESSION if caller.is_session else SenderKind.PERSON
    return Sender(kind, caller.name, name, caller.address, caller.human, project.name if project else None)


def server_sender() -> Sender:
    """Return the server as a sender."""
    return Sender(SenderKind.MAESTRO, SERVER_NAME, SERVER_NAME, None, "", None)


def own_mailboxes(caller: Caller) -> list[str]:
    """Return the mailboxes of a caller: first the caller's own, after it the shared mailboxes."""
    if caller.role is Role.NOBODY:
        return []
    if caller.role is Role.PERSON:
        return [HUMAN_MAILBOX]
    shared = (caller.member_id, caller.workspace_id, caller.project_id)
    return [mailbox for mailbox in (caller.session_id, *shared) if mailbox is not None]


def inline_body(text: str) -> StoredContent:
    """Return a redacted body that is stored in the message row."""
    data = redaction.hide_tokens(text).encode()
    return StoredContent(data, None, len(data), "")


def fits_inline(text: str) -> bool:
    """Return whether a body fits into the message row. A body that an inbox shows whole always fits."""
    return len(text) <= limits.inbox_body_chars_max
