"""Issues: tasks that an agent opens in another project."""

from __future__ import annotations

import enum
from typing import Annotated

from msgspec import Meta

from maestro.core import limits
from maestro.core.errors import (
    Ambiguous,
    ClaimLost,
    Conflict,
    Cycle,
    IllegalMove,
    Looping,
    NotConfirmed,
    NotFound,
    NotPermitted,
    NotReady,
    TooFast,
    TooLarge,
)
from maestro.domain.callers import Callers
from maestro.domain.documents import Document
from maestro.domain.messages import Message, MessageType, ReceiptStep
from maestro.domain.priorities import Priority
from maestro.domain.tasks import Task
from maestro.operations import fields
from maestro.operations.base import GET, POST, CommandSyntax, Effect, InProject, ListPage, Operation
from maestro.operations.mail_shapes import Body, Files, Recipient, SentMail
from maestro.operations.task_shapes import MovedTask, TaskReference

_To = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=500,
        pattern=fields.TEXT,
        description="The asked project: its name, its name in your settings, or its key.",
        extra={"complete": "project", "label": "PROJECT"},
    ),
]
_Ref = Annotated[fields.TaskRef, Meta(description="An issue: beads#12, or #12 in its project.")]
_ClosingMessage = Annotated[
    str,
    Meta(
        max_length=limits.report_chars_max,
        pattern=fields.TEXT,
        description="A message to the opener.",
        extra={"text": True, "label": "TEXT"},
    ),
]


class IssueFilter(enum.StrEnum):
    """Which issues a list shows."""

    OPEN = "open"
    CLOSED = "closed"
    ALL = "all"


class OpenIssue(InProject, frozen=True, kw_only=True):
    to: _To
    title: fields.Title
    message: Body
    attach: Files = []
    priority: Annotated[Priority, Meta(description="The urgency.", extra={"label": "P"})] = Priority.NORMAL
    found_in: (
        Annotated[
            fields.TaskRef, Meta(description="Your task that led to the issue; default: the only task you hold.")
        ]
        | None
    ) = None
    blocks: Annotated[fields.TaskRefs, Meta(description="Your tasks that wait on the issue from now on.")] = []


class OneIssue(InProject, frozen=True, kw_only=True):
    id: _Ref


class ListIssues(InProject, frozen=True, kw_only=True):
    status: Annotated[IssueFilter, Meta(description="Which issues.")] = IssueFilter.OPEN
    opened: Annotated[bool, Meta(description="Issues that the project opened in other projects.")] = False
    limit: fields.Limit = limits.page_items_default
    cursor: fields.PageCursor = ""


class ReplyIssue(OneIssue, frozen=True, kw_only=True):
    message: Body
    attach: Files = []
    type: Annotated[MessageType, Meta(description="The type of the message.", extra={"label": "TYPE"})] = (
        MessageType.RESPONSE
    )
    priority: Annotated[Priority, Meta(description="The urgency.", extra={"label": "P"})] | None = None
    wait_for: Annotated[ReceiptStep, Meta(description="Block until the message has reached this step.")] | None = None
    timeout: fields.Timeout = limits.wait_seconds_default * 1000


class ClaimIssue(OneIssue, frozen=True, kw_only=True):
    lease: fields.Lease = limits.task_lease_seconds_default * 1000


class CloseIssue(OneIssue, frozen=True, kw_only=True):
    message: _ClosingMessage = ""
    wont_fix: Annotated[bool, Meta(description="The issue will not be done; tasks that wait on it stay blocked.")] = (
        False
    )
    fence: fields.Fence | None = None


class ReopenIssue(OneIssue, frozen=True, kw_only=True):
    pass


class IssueLine(Task, frozen=True, kw_only=True):
    """An issue: a task with the asking project and the agent that opened the issue."""

    from_project: str
    opener: str


class OpenedIssue(IssueLine, frozen=True, kw_only=True):
    """A new issue, with the first message of its thread."""

    thread_id: str
    message: SentMail
    warnings: list[str] = []


class IssueList(ListPage, frozen=True, kw_only=True):
    issues: list[IssueLine]


class IssueComment(Message, frozen=True, kw_only=True):
    """A message of an issue's thread, with its receipts."""

    deliveries: list[Recipient]


class IssueDetail(IssueLine, frozen=True, kw_only=True):
    """An issue with its origin, dependants, documents and comments."""

    thread_id: str
    origin: TaskReference | None  # the task that led to the issue
    dependants: list[TaskReference]
    documents: list[Document]
    comments: list[IssueComment]
    truncated: bool = False
    receipt: str = ""


_ABOUT = (NotFound, Ambiguous, NotPermitted)
_MOVE = (*_ABOUT, IllegalMove, ClaimLost)

OPEN = Operation(
    "issue.open",
    OpenIssue,
    OpenedIssue,
    callers=Callers.KNOWN,
    http=POST("/api/issues"),
    summary="Open an issue in another project; the issue waits there until an agent claims it.",
    effect=Effect.WRITE,
    command=CommandSyntax("issue open", ("to",)),
    examples=(
        'maestro issue open beads --title "Parser crashes" --message-file report.md --attach repro.txt',
        'maestro issue open beads --title "No way to list" --message "…" --blocks "#4"',
    ),
    errors=(*_ABOUT, TooLarge, TooFast, Cycle, Conflict),
)
LIST = Operation(
    "issue.list",
    ListIssues,
    IssueList,
    callers=Callers.KNOWN,
    http=GET("/api/issues"),
    summary="List the issues of a project, or the issues that it opened in other projects.",
    effect=Effect.READ,
    command=CommandSyntax("issue list"),
    examples=("maestro issue list", "maestro issue list --opened --status all"),
    errors=_ABOUT,
)
SHOW = Operation(
    "issue.show",
    OneIssue,
    IssueDetail,
    callers=Callers.KNOWN,
    http=GET("/api/issues/{id}"),
    summary="Show an issue with its comments and files.",
    effect=Effect.SCAN,
    command=CommandSyntax("issue show", ("id",)),
    examples=("maestro issue show beads#12",),
    errors=_ABOUT,
)
REPLY = Operation(
    "issue.reply",
    ReplyIssue,
    SentMail,
    callers=Callers.KNOWN,
    http=POST("/api/issues/{id}/reply"),
    summary="Send a comment on an issue to the other party.",
    effect=Effect.WRITE,
    command=CommandSyntax("issue reply", ("id",)),
    examples=('maestro issue reply beads#12 --message "Which version?" --type query',),
    errors=(*_ABOUT, Conflict, TooLarge, TooFast, Looping, NotConfirmed),
)
CLAIM = Operation(
    "issue.claim",
    ClaimIssue,
    MovedTask,
    callers=Callers.KNOWN,
    http=POST("/api/issues/{id}/claim"),
    summary="Claim an issue and its thread; the first claim wins.",
    effect=Effect.WRITE,
    command=CommandSyntax("issue claim", ("id",)),
    examples=('maestro issue claim "#12"',),
    errors=(*_MOVE, NotReady),
)
CLOSE = Operation(
    "issue.close",
    CloseIssue,
    MovedTask,
    callers=Callers.MOVERS,
    http=POST("/api/issues/{id}/close"),
    summary="Close an issue; the opener is notified, and tasks that waited on it become ready.",
    effect=Effect.WRITE,
    command=CommandSyntax("issue close", ("id",)),
    examples=('maestro issue close "#12" --message "Fixed in 1.4."', 'maestro issue close "#12" --wont-fix'),
    errors=(*_MOVE, NotReady),
)
REOPEN = Operation(
    "issue.reopen",
    ReopenIssue,
    MovedTask,
    callers=Callers.OWNERS,
    http=POST("/api/issues/{id}/reopen"),
    summary="Open a closed issue again.",
    effect=Effect.WRITE,
    command=CommandSyntax("issue reopen", ("id",)),
    examples=("maestro issue reopen beads#12",),
    errors=_MOVE,
)

ALL = (OPEN, LIST, SHOW, REPLY, CLAIM, CLOSE, REOPEN)
