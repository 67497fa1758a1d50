"""Requests about mail, and their answers."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import Meta

from maestro.core import limits
from maestro.domain.messages import (
    Attachment,
    BroadcastScope,
    Delivery,
    Message,
    MessageType,
    ReceiptStep,
    ReceivedMessage,
)
from maestro.domain.priorities import Priority
from maestro.domain.sessions import Contact
from maestro.operations import fields
from maestro.operations.base import InProject, ListPage, Request

_Address = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=500,
        pattern=fields.TEXT,
        description="A session's name or id, dave/vc, a project, @member, vc#12, coordinator, human.",
        extra={"complete": "address", "label": "TO"},
    ),
]
_Addresses = Annotated[
    list[_Address], Meta(max_length=limits.recipients_max, description="The recipients.", extra={"label": "TO"})
]
_Subject = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=limits.subject_chars_max,
        pattern=fields.LINE,
        description="The subject, on one line.",
        extra={"label": "TEXT"},
    ),
]
Body = Annotated[
    str,
    Meta(
        max_length=limits.message_chars_max,
        pattern=fields.TEXT,
        description="The message, in Markdown.",
        extra={"text": True, "label": "TEXT"},
    ),
]
_MessageRef = Annotated[
    str,
    Meta(min_length=1, max_length=100, pattern=fields.TEXT, description="A message's id.", extra={"label": "ID"}),
]
_Type = Annotated[MessageType, Meta(description="The type of the message.", extra={"label": "TYPE"})]
_Priority = Annotated[Priority, Meta(description="The urgency.", extra={"label": "P"})]
_AtLeast = Annotated[Priority, Meta(description="Only this urgency or higher.", extra={"label": "P"})]
_OnlyType = Annotated[MessageType, Meta(description="Only this type.", extra={"label": "TYPE"})]
_OnlyTask = Annotated[fields.TaskRef, Meta(description="Only mail about this task.", extra={"label": "ID"})]
_Peek = Annotated[bool, Meta(description="Do not mark messages read.")]
_Timeout = fields.Timeout


class MailFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file attached to a message."""

    file_name: Annotated[str, Meta(min_length=1, max_length=255, pattern=fields.FILE_NAME)]
    content: Annotated[bytes, Meta(max_length=limits.attachment_bytes_max)]


Files = Annotated[
    list[MailFile],
    Meta(
        max_length=limits.attachments_max,
        description="A file to attach. May be repeated.",
        extra={"file": "file_name", "repeat": True, "label": "FILE"},
    ),
]


class WrittenMessage(InProject, frozen=True, kw_only=True):
    """The fields of every message that a sender writes."""

    subject: _Subject
    message: Body
    type: _Type | None = None
    priority: _Priority = Priority.NORMAL
    task: (
        Annotated[fields.TaskRef, Meta(description="The task that the message is about.", extra={"label": "ID"})]
        | None
    ) = None
    attach: Files = []


class SendMail(WrittenMessage, frozen=True, kw_only=True):
    to: _Addresses = []
    to_coordinator: Annotated[bool, Meta(description="To your coordinator.")] = False
    to_member: Annotated[
        list[fields.Name],
        Meta(max_length=20, description="To a member's mailbox.", extra={"label": "NAME", "also": "to-team-member"}),
    ] = []
    wait_for: (
        Annotated[ReceiptStep, Meta(description="Block until the message has reached this step for every recipient.")]
        | None
    ) = None
    timeout: _Timeout = limits.wait_seconds_default * 1000


class PostToProject(WrittenMessage, frozen=True, kw_only=True):
    """A message to a project's inbox."""


class BroadcastMail(WrittenMessage, frozen=True, kw_only=True):
    scope: Annotated[BroadcastScope, Meta(description="The recipients; never yourself.")]


class ReplyMail(InProject, frozen=True, kw_only=True):
    id: _MessageRef
    message: Body
    subject: _Subject | None = None
    type: _Type = MessageType.RESPONSE
    priority: _Priority | None = None
    attach: Files = []
    wait_for: Annotated[ReceiptStep, Meta(description="Block until the message has reached this step.")] | None = None
    timeout: _Timeout = limits.wait_seconds_default * 1000


class Recipient(Delivery, frozen=True, kw_only=True):
    """A delivery with the recipient's name."""

    name: str
    note: str | None = None  # why the recipient does not get the message now


class SentMail(msgspec.Struct, frozen=True, kw_only=True):
    """A stored message, with its delivery status for each recipient."""

    id: str
    thread_id: str
    subject: str
    created_at: datetime
    deliveries: list[Recipient]
    issue: str | None = None  # the issue that the message opened in another project, or belongs to


class MailStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The delivery status of a message."""

    id: str
    thread_id: str
    subject: str
    created_at: datetime
    deliveries: list[Recipient]


class _Filtered(InProject, frozen=True, kw_only=True):
    type: _OnlyType | None = None
    priority: _AtLeast | None = None
    task: _OnlyTask | None = None


class ReadInbox(_Filtered, frozen=True, kw_only=True):
    thread: Annotated[bool, Meta(description="Group by thread.")] = False
    all: Annotated[bool, Meta(description="Read messages too, newest first.")] = False
    peek: _Peek = False
    of: (
        Annotated[
            str,
            Meta(
                max_length=200,
                pattern=fields.TEXT,
                description="Another session's inbox, unmarked (only for the person and its coordinator).",
                extra={"label": "SESSION"},
            ),
        ]
        | None
    ) = None
    limit: fields.Limit = limits.page_items_default
    cursor: Annotated[
        str,
        Meta(
            max_length=20_000,
            pattern=fields.TEXT,
            description="The cursor of the answer before; messages which that answer showed count as read.",
            extra={"label": "CURSOR"},
        ),
    ] = ""


class WaitMail(_Filtered, frozen=True, kw_only=True):
    timeout: _Timeout = limits.wait_seconds_default * 1000
    count: Annotated[
        int,
        Meta(ge=1, le=limits.wait_messages_max, description="How many messages to wait for.", extra={"label": "N"}),
    ] = 1
    debounce: Annotated[
        int,
        Meta(
            ge=0,
            le=limits.gather_seconds_max * 1000,
            description="How long no message may arrive before the answer comes, e.g. 500ms.",
            extra={"duration": True, "label": "TIME"},
        ),
    ] = limits.gather_milliseconds_default
    peek: _Peek = False
    cursor: Annotated[
        str, Meta(max_length=20_000, pattern=fields.TEXT, description="As for the inbox.", extra={"label": "CURSOR"})
    ] = ""


class InboxPage(ListPage, frozen=True, kw_only=True):
    """The messages of an inbox.

    `receipt` names the messages shown whole. A caller sends the receipt as the `cursor` of its next call, or to
    `mail.confirm`; then the messages count as read. `cursor` begins the next page; for unread mail it is the receipt.
    """

    messages: list[ReceivedMessage]
    more: bool = False
    receipt: str = ""
    coordinator: Contact | None = None
    grouped: bool = False


class OneMessage(InProject, frozen=True, kw_only=True):
    id: _MessageRef


class MessageDetail(Message, frozen=True, kw_only=True):
    """A whole message, with its receipts."""

    deliveries: list[Recipient]
    claimed_by: str | None = None
    receipt: str = ""


class Thread(msgspec.Struct, frozen=True, kw_only=True):
    """A whole thread."""

    thread_id: str
    subject: str
    claimed_by: str | None
    messages: list[Message]
    truncated: bool = False
    receipt: str = ""


class OneThread(InProject, frozen=True, kw_only=True):
    id: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=100,
            pattern=fields.TEXT,
            description="A thread: the id of any of its messages.",
            extra={"label": "THREAD"},
        ),
    ]


class ThreadClaim(msgspec.Struct, frozen=True, kw_only=True):
    """A thread and its holder."""

    thread_id: str
    claimed_by: str | None


class AcknowledgeMail(InProject, frozen=True, kw_only=True):
    ids: Annotated[
        list[_MessageRef],
        Meta(min_length=1, max_length=limits.reference_ids_max, description="Messages.", extra={"label": "IDS"}),
    ]


class AcknowledgedMail(msgspec.Struct, frozen=True, kw_only=True):
    """The messages that are now acknowledged."""

    messages: list[str]


class ConfirmReceipt(Request, frozen=True, kw_only=True):
    receipt: Annotated[
        str, Meta(max_length=20_000, pattern=fields.TEXT, description="The receipt or cursor of an inbox.")
    ]
    step: Annotated[ReceiptStep, Meta(description="The step to record.")] = ReceiptStep.READ
    via: Annotated[
        str, Meta(max_length=32, pattern=fields.NAME, description="The channel that showed the messages.")
    ] = "call"


class ConfirmedReceipt(msgspec.Struct, frozen=True, kw_only=True):
    """How many deliveries changed."""

    count: int


class SearchMail(InProject, frozen=True, kw_only=True):
    query: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=500,
            pattern=fields.TEXT,
            description='Words that a message must contain; "quoted words" as a phrase; word* as a prefix.',
            extra={"label": "QUERY"},
        ),
    ]
    everywhere: Annotated[bool, Meta(description="All projects (the person only).")] = False
    limit: fields.Limit = 20
    cursor: fields.PageCursor = ""


class MessageList(ListPage, frozen=True, kw_only=True):
    messages: list[Message]


class SentPage(InProject, frozen=True, kw_only=True):
    limit: fields.Limit = 20
    cursor: fields.PageCursor = ""


class SentList(ListPage, frozen=True, kw_only=True):
    """Messages that the caller sent, with their receipts."""

    messages: list[MailStatus]


class TaskMail(InProject, frozen=True, kw_only=True):
    id: fields.TaskRef
    limit: fields.Limit = limits.page_items_default
    cursor: fields.PageCursor = ""


class ProjectInbox(InProject, frozen=True, kw_only=True):
    all: Annotated[bool, Meta(description="Claimed and acknowledged messages too.")] = False
    limit: fields.Limit = limits.page_items_default
    cursor: fields.PageCursor = ""


class OneAttachment(InProject, frozen=True, kw_only=True):
    id: Annotated[
        str, Meta(min_length=1, max_length=100, description="An attachment's id.", extra={"label": "ATTACHMENT"})
    ]


class AttachmentContent(Attachment, frozen=True, kw_only=True):
    content: bytes
