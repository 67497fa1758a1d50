"""What requests about mail say, and what comes back."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import Meta

from maestro.core import limits
from maestro.domain.messages import Attachment, Delivery, Message, Received, Scope, Step, Type
from maestro.domain.sessions import Contact
from maestro.domain.tasks import Priority
from maestro.operations import fields
from maestro.operations.base import Cursor, InProject, Request

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
    list[_Address], Meta(max_length=limits.recipients_max, description="Whom it is for.", extra={"label": "TO"})
]
_Subject = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=limits.subject_chars_max,
        pattern=fields.LINE,
        description="What it is about, on one line.",
        extra={"label": "TEXT"},
    ),
]
Body = Annotated[
    str,
    Meta(
        max_length=limits.message_chars_max,
        pattern=fields.TEXT,
        description="The message itself, in Markdown.",
        extra={"text": True, "label": "TEXT"},
    ),
]
_MessageRef = Annotated[
    str,
    Meta(min_length=1, max_length=100, pattern=fields.TEXT, description="A message's id.", extra={"label": "ID"}),
]
_Type = Annotated[Type, Meta(description="What it is for.", extra={"label": "TYPE"})]
_Priority = Annotated[Priority, Meta(description="How urgent it is.", extra={"label": "P"})]
_AtLeast = Annotated[Priority, Meta(description="Only this urgent or more.", extra={"label": "P"})]
_OnlyType = Annotated[Type, Meta(description="Only this type.", extra={"label": "TYPE"})]
_OnlyTask = Annotated[fields.TaskRef, Meta(description="Only mail about this task.", extra={"label": "ID"})]
_Peek = Annotated[bool, Meta(description="Look without marking anything read.")]
_Timeout = fields.Timeout


class File(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file that goes with a message."""

    file_name: Annotated[str, Meta(min_length=1, max_length=255, pattern=fields.FILE_NAME)]
    content: Annotated[bytes, Meta(max_length=limits.attachment_bytes_max)]


Files = Annotated[
    list[File],
    Meta(
        max_length=limits.attachments_max,
        description="A file to send along. May be repeated.",
        extra={"file": "file_name", "repeat": True, "label": "FILE"},
    ),
]


class Letter(InProject, frozen=True, kw_only=True):
    """What every message that someone writes has."""

    subject: _Subject
    message: Body
    type: _Type | None = None
    priority: _Priority = Priority.NORMAL
    task: Annotated[fields.TaskRef, Meta(description="The task it is about.", extra={"label": "ID"})] | None = None
    attach: Files = []


class SendMail(Letter, frozen=True, kw_only=True):
    to: _Addresses = []
    to_coordinator: Annotated[bool, Meta(description="To your coordinator.")] = False
    to_member: Annotated[
        list[fields.Name],
        Meta(max_length=20, description="To a member's box.", extra={"label": "NAME", "also": "to-team-member"}),
    ] = []
    wait_for: Annotated[Step, Meta(description="Block until it is so far with every recipient.")] | None = None
    timeout: _Timeout = limits.wait_seconds_default * 1000


class PostToProject(Letter, frozen=True, kw_only=True):
    """Mail to a project's inbox."""


class Broadcast(Letter, frozen=True, kw_only=True):
    scope: Annotated[Scope, Meta(description="Whom it reaches; never yourself.")]


class Reply(InProject, frozen=True, kw_only=True):
    id: _MessageRef
    message: Body
    subject: _Subject | None = None
    type: _Type = Type.RESPONSE
    priority: _Priority | None = None
    attach: Files = []
    wait_for: Annotated[Step, Meta(description="Block until it is so far.")] | None = None
    timeout: _Timeout = limits.wait_seconds_default * 1000


class Recipient(Delivery, frozen=True, kw_only=True):
    """A delivery with the recipient's name."""

    name: str
    note: str | None = None  # what keeps it from being heard now


class SentMail(msgspec.Struct, frozen=True, kw_only=True):
    """A message that is stored, and how far it has come with each recipient."""

    id: str
    thread_id: str
    subject: str
    created_at: datetime
    deliveries: list[Recipient]
    issue: str | None = None  # the issue that it opened in another project, or belongs to


class MailStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How far a message has come."""

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
    thread: Annotated[bool, Meta(description="Group by conversation.")] = False
    all: Annotated[bool, Meta(description="Also what was read before, newest first.")] = False
    peek: _Peek = False
    of: (
        Annotated[
            str,
            Meta(
                max_length=200,
                pattern=fields.TEXT,
                description="Someone else's inbox, without marking anything (the person, or its coordinator).",
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
            description="The cursor of the answer before: what that answer showed counts as read.",
            extra={"label": "CURSOR"},
        ),
    ] = ""


class WaitMail(_Filtered, frozen=True, kw_only=True):
    timeout: _Timeout = limits.wait_seconds_default * 1000
    count: Annotated[
        int,
        Meta(ge=1, le=limits.wait_messages_max, description="Wait for this many.", extra={"label": "N"}),
    ] = 1
    debounce: Annotated[
        int,
        Meta(
            ge=0,
            le=limits.gather_seconds_max * 1000,
            description="How long it must be quiet before the answer comes, e.g. 500ms.",
            extra={"duration": True, "label": "TIME"},
        ),
    ] = limits.gather_milliseconds_default
    peek: _Peek = False
    cursor: Annotated[
        str, Meta(max_length=20_000, pattern=fields.TEXT, description="As for the inbox.", extra={"label": "CURSOR"})
    ] = ""


class Inbox(Cursor, frozen=True, kw_only=True):
    """What lies in an inbox.

    `receipt` names what came out whole: sent with the next call as its `cursor`, or to `mail.confirm`, it counts as
    read. `cursor` goes on from here; where nothing but unread mail is listed, it is the receipt.
    """

    messages: list[Received]
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
    """A whole conversation."""

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
            description="A conversation: the id of any of its messages.",
            extra={"label": "THREAD"},
        ),
    ]


class ThreadClaim(msgspec.Struct, frozen=True, kw_only=True):
    """Who has a conversation."""

    thread_id: str
    claimed_by: str | None


class Acknowledge(InProject, frozen=True, kw_only=True):
    ids: Annotated[
        list[_MessageRef],
        Meta(min_length=1, max_length=limits.reference_ids_max, description="Messages.", extra={"label": "IDS"}),
    ]


class Acknowledged(msgspec.Struct, frozen=True, kw_only=True):
    """The messages that count as acknowledged from now on."""

    messages: list[str]


class Confirm(Request, frozen=True, kw_only=True):
    receipt: Annotated[str, Meta(max_length=20_000, pattern=fields.TEXT, description="The cursor of an inbox.")]
    step: Annotated[Step, Meta(description="How far it came.")] = Step.READ
    via: Annotated[str, Meta(max_length=32, pattern=fields.NAME, description="By what.")] = "call"


class Confirmed(msgspec.Struct, frozen=True, kw_only=True):
    """How many deliveries went on."""

    count: int


class SearchMail(InProject, frozen=True, kw_only=True):
    query: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=500,
            pattern=fields.TEXT,
            description='Words that must all be there; "several in quotes" stand together; word* begins so.',
            extra={"label": "QUERY"},
        ),
    ]
    everywhere: Annotated[bool, Meta(description="All projects (the person only).")] = False
    limit: fields.Limit = 20
    cursor: fields.PageCursor = ""


class MessageList(Cursor, frozen=True, kw_only=True):
    messages: list[Message]


class SentPage(InProject, frozen=True, kw_only=True):
    limit: fields.Limit = 20
    cursor: fields.PageCursor = ""


class SentList(Cursor, frozen=True, kw_only=True):
    """What one has sent, with its receipts."""

    messages: list[MailStatus]


class TaskMail(InProject, frozen=True, kw_only=True):
    id: fields.TaskRef
    limit: fields.Limit = limits.page_items_default
    cursor: fields.PageCursor = ""


class ProjectInbox(InProject, frozen=True, kw_only=True):
    all: Annotated[bool, Meta(description="Also what someone has claimed or acknowledged.")] = False
    limit: fields.Limit = limits.page_items_default
    cursor: fields.PageCursor = ""


class OneAttachment(InProject, frozen=True, kw_only=True):
    id: Annotated[
        str, Meta(min_length=1, max_length=100, description="An attachment's id.", extra={"label": "ATTACHMENT"})
    ]


class AttachmentContent(Attachment, frozen=True, kw_only=True):
    content: bytes
