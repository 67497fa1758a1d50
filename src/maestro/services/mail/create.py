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
from maestro.domain.priorities import Priority
from maestro.domain.trackers import TRACKER_PREFIX, is_tracker_person
from maestro.store.base import Tx
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

    def distinct_targets(self) -> list[MailTarget]:
        """Return one target for each mailbox."""
        return list({target.mailbox: target for target in self.targets}.values())

    def shown_body(self) -> str:
        """Return the body, or the beginning of a body that is stored in a file."""
        return self.body.body.decode() if self.body.body is not None else self.preview


def post_message(tx: Tx, draft: Draft) -> Message:
    """Store a message with a delivery in each target mailbox; return the message."""
    if draft.priority is _CRITICAL:
        draft = msgspec.structs.replace(draft, priority=_counted_priority(draft))
    message = _create_message(tx, draft)
    tx.mail.insert(message, draft.body, project_id=draft.project_id)
    targets = draft.distinct_targets()
    mailboxes = [(target.mailbox, target.project_id, target.reason) for target in targets]
    tx.deliveries.insert_many(message.seq, mailboxes, priority=message.priority, type=message.type)
    for attachment, (_, content) in zip(message.attachments, draft.attachments, strict=True):
        tx.mail.insert_attachment(attachment, content)
    _log_message(tx, draft, message, [target.mailbox for target in targets])
    return message


def _create_message(tx: Tx, draft: Draft) -> Message:
    message_id = ids.new_id("msg", tx.at)
    return Message(
        id=message_id,
        seq=tx.mail.next_seq(),
        thread_id=draft.thread_id or (draft.parent.thread_id if draft.parent else message_id),
        parent_id=draft.parent.id if draft.parent else None,
        type=draft.type,
        priority=draft.priority,
        subject=draft.subject,
        body=draft.shown_body(),
        truncated=draft.body.blob is not None,
        sender=draft.sender,
        to=draft.to,
        scope=draft.scope,
        task_id=draft.task_id,
        task=None,
        hops=draft.hops,
        attachments=_create_attachments(tx, message_id, draft.attachments) if draft.attachments else [],
        created_at=tx.at,
    )


def _counted_priority(draft: Draft) -> Priority:
    """Return the priority that counts: lower for an agent's critical message to another project."""
    leaves_project = any(target.project_id not in (None, draft.project_id) for target in draft.targets)
    return effective_priority(draft.priority, draft.sender.kind, leaves_project=leaves_project)


def _create_attachments(tx: Tx, message_id: str, files: Sequence[tuple[str, StoredContent]]) -> list[Attachment]:
    # Ids made at the same moment have a random order. Sorted ids keep the files in the order of the draft.
    attachment_ids = sorted(ids.new_id("att", tx.at) for _ in files)
    return [
        Attachment(attachment_id, message_id, name, content.size, content.sha256)
        for attachment_id, (name, content) in zip(attachment_ids, files, strict=True)
    ]


def _log_message(tx: Tx, draft: Draft, message: Message, mailboxes: list[str]) -> None:
    data = {
        "from": message.sender.id,
        "to": mailboxes,
        "type": message.type._value_,
        "priority": message.priority._value_,
        "subject": message.subject,
        "thread": message.thread_id,
    }
    if message.task_id:
        data["task"] = message.task_id
    tx.log(NewEvent(EventKind.MAIL_SENT, message.id, draft.project_id, data), actor=message.sender.id)


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
