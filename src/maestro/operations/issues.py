"""Issues: what an agent of one project asks of another project, and the way to its end."""

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
from maestro.domain.messages import Message, Step, Type
from maestro.domain.tasks import Priority, Task
from maestro.operations import fields
from maestro.operations.base import GET, POST, Command, Cursor, Effect, InProject, Operation
from maestro.operations.mail_shapes import Body, Files, Recipient, SentMail
from maestro.operations.task_shapes import MovedTask, TaskLink

_To = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=500,
        pattern=fields.TEXT,
        description="The project it is for: its name, what your settings call it, or its key.",
        extra={"complete": "project", "label": "PROJECT"},
    ),
]
_Ref = Annotated[fields.TaskRef, Meta(description="An issue: beads#12, or #12 in its project.")]
_Words = Annotated[
    str,
    Meta(
        max_length=limits.report_chars_max,
        pattern=fields.TEXT,
        description="What to say with it, for whoever opened it.",
        extra={"text": True, "label": "TEXT"},
    ),
]


class Which(enum.StrEnum):
    """Which issues one wants to see."""

    OPEN = "open"
    CLOSED = "closed"
    ALL = "all"


class OpenIssue(InProject, frozen=True, kw_only=True):
    to: _To
    title: fields.Title
    message: Body
    attach: Files = []
    priority: Annotated[Priority, Meta(description="How urgent it is.", extra={"label": "P"})] = Priority.NORMAL
    found_in: (
        Annotated[fields.TaskRef, Meta(description="Your task that led to it; else the only one that you hold.")]
        | None
    ) = None
    blocks: Annotated[fields.TaskRefs, Meta(description="Your tasks that wait on it from now on.")] = []


class OneIssue(InProject, frozen=True, kw_only=True):
    id: _Ref


class ListIssues(InProject, frozen=True, kw_only=True):
    status: Annotated[Which, Meta(description="Which ones.")] = Which.OPEN
    opened: Annotated[bool, Meta(description="Those that the project opened elsewhere.")] = False
    limit: fields.Limit = limits.page_items_default
    cursor: fields.PageCursor = ""


class ReplyIssue(OneIssue, frozen=True, kw_only=True):
    message: Body
    attach: Files = []
    type: Annotated[Type, Meta(description="What it is for.", extra={"label": "TYPE"})] = Type.RESPONSE
    priority: Annotated[Priority, Meta(description="How urgent it is.", extra={"label": "P"})] | None = None
    wait_for: Annotated[Step, Meta(description="Block until it is so far.")] | None = None
    timeout: fields.Timeout = limits.wait_seconds_default * 1000


class ClaimIssue(OneIssue, frozen=True, kw_only=True):
    lease: fields.Lease = limits.lease_seconds_default * 1000


class CloseIssue(OneIssue, frozen=True, kw_only=True):
    message: _Words = ""
    wont_fix: Annotated[bool, Meta(description="It will not be done: whatever waits on it stays blocked.")] = False
    fence: fields.Fence | None = None


class ReopenIssue(OneIssue, frozen=True, kw_only=True):
    pass


class IssueLine(Task, frozen=True, kw_only=True):
    """An issue: a task with the project that opened it, and who did."""

    from_project: str
    opener: str


class OpenedIssue(IssueLine, frozen=True, kw_only=True):
    """A new issue, with the first message of its conversation."""

    thread_id: str
    message: SentMail
    warnings: list[str] = []


class IssueList(Cursor, frozen=True, kw_only=True):
    issues: list[IssueLine]


class IssueComment(Message, frozen=True, kw_only=True):
    """A message of an issue's conversation, with its receipts."""

    deliveries: list[Recipient]


class IssueDetail(IssueLine, frozen=True, kw_only=True):
    """An issue with everything around it and all that was said about it."""

    thread_id: str
    origin: TaskLink | None  # the task that led to it
    dependants: list[TaskLink]
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
    summary="Open an issue in another project; it waits there until someone takes it.",
    effect=Effect.WRITE,
    command=Command("issue open", ("to",)),
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
    summary="List issues that a project got, or opened elsewhere.",
    effect=Effect.READ,
    command=Command("issue list"),
    examples=("maestro issue list", "maestro issue list --opened --status all"),
    errors=_ABOUT,
)
SHOW = Operation(
    "issue.show",
    OneIssue,
    IssueDetail,
    callers=Callers.KNOWN,
    http=GET("/api/issues/{id}"),
    summary="Show an issue with all that was said about it, and its files.",
    effect=Effect.SCAN,
    command=Command("issue show", ("id",)),
    examples=("maestro issue show beads#12",),
    errors=_ABOUT,
)
REPLY = Operation(
    "issue.reply",
    ReplyIssue,
    SentMail,
    callers=Callers.KNOWN,
    http=POST("/api/issues/{id}/reply"),
    summary="Say something about an issue, to the other side.",
    effect=Effect.WRITE,
    command=Command("issue reply", ("id",)),
    examples=('maestro issue reply beads#12 --message "Which version?" --type query',),
    errors=(*_ABOUT, Conflict, TooLarge, TooFast, Looping, NotConfirmed),
)
CLAIM = Operation(
    "issue.claim",
    ClaimIssue,
    MovedTask,
    callers=Callers.KNOWN,
    http=POST("/api/issues/{id}/claim"),
    summary="Take an issue and its conversation; the first one has it.",
    effect=Effect.WRITE,
    command=Command("issue claim", ("id",)),
    examples=('maestro issue claim "#12"',),
    errors=(*_MOVE, NotReady),
)
CLOSE = Operation(
    "issue.close",
    CloseIssue,
    MovedTask,
    callers=Callers.MOVERS,
    http=POST("/api/issues/{id}/close"),
    summary="Close an issue; whoever opened it is told, and what waited on it becomes ready.",
    effect=Effect.WRITE,
    command=Command("issue close", ("id",)),
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
    command=Command("issue reopen", ("id",)),
    examples=("maestro issue reopen beads#12",),
    errors=_MOVE,
)

ALL = (OPEN, LIST, SHOW, REPLY, CLAIM, CLOSE, REOPEN)
