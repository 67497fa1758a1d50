"""What can be done with tasks."""

from __future__ import annotations

import enum
from typing import Annotated

import msgspec
from msgspec import Meta

from maestro import limits
from maestro.domain.callers import Callers
from maestro.domain.documents import Document, Report, ReportKind
from maestro.domain.tasks import Priority, Status, Task
from maestro.errors import (
    Ambiguous,
    ClaimLost,
    Conflict,
    Cycle,
    IllegalMove,
    NotFound,
    NotPermitted,
    NotReady,
    TimedOut,
    TooLarge,
)
from maestro.operations import fields
from maestro.operations.base import DELETE, GET, PATCH, POST, Command, Cursor, Effect, Operation, Request


class InProject(Request, frozen=True, kw_only=True):
    """A request about one project: the one named, else the session's, else the directory's."""

    project: fields.Project = ""


class OneTask(InProject, frozen=True, kw_only=True):
    id: fields.TaskRef


class HeldTask(OneTask, frozen=True, kw_only=True):
    fence: fields.Fence | None = None


class ReasonedTask(HeldTask, frozen=True, kw_only=True):
    reason: fields.Reason = ""


class Page(InProject, frozen=True, kw_only=True):
    limit: fields.Limit = limits.page_items_default
    cursor: fields.PageCursor = ""


class TaskLink(msgspec.Struct, frozen=True):
    """A task as another mentions it."""

    id: str
    ref: str
    title: str
    status: Status


class TaskList(Cursor, frozen=True, kw_only=True):
    tasks: list[Task]


class WaitingTask(Task, frozen=True, kw_only=True):
    """A task with what it waits on."""

    blockers: list[TaskLink]
    waits_for_stage: str | None = None


class WaitingTasks(Cursor, frozen=True, kw_only=True):
    tasks: list[WaitingTask]


class TaskDetail(WaitingTask, frozen=True, kw_only=True):
    """A task with everything around it."""

    dependencies: list[TaskLink]
    dependants: list[TaskLink]
    children: list[TaskLink]
    found: list[TaskLink]
    reports: list[Report]
    documents: list[Document]


class MovedTask(Task, frozen=True, kw_only=True):
    """A task after a change, with what the change did to others and what to watch out for."""

    unblocked: list[str] = []
    warnings: list[str] = []


class TaskNode(Task, frozen=True, kw_only=True):
    """A task in a tree."""

    depth: int
    depends_on: list[str]


class TaskTree(msgspec.Struct, frozen=True, kw_only=True):
    tasks: list[TaskNode]
    truncated: bool = False


class CreateTask(InProject, frozen=True, kw_only=True):
    title: fields.Title
    description: fields.Description = ""
    stage: fields.Stage | None = None
    found_in: fields.TaskRef | None = None
    parent: fields.TaskRef | None = None
    depends_on: fields.TaskRefs = []
    priority: Priority = Priority.NORMAL
    member: fields.Name | None = None
    accept: fields.Acceptance = []
    gates: fields.Gates = []


class EditTask(OneTask, frozen=True, kw_only=True):
    title: fields.Title | None = None
    description: fields.Description | None = None
    stage: Annotated[str, Meta(max_length=limits.name_chars_max, description="A stage, or '' for none.")] | None = (
        None
    )
    parent: Annotated[str, Meta(max_length=200, description="A parent, or '' for none.")] | None = None
    priority: Priority | None = None
    member: Annotated[str, Meta(max_length=limits.name_chars_max, description="A member, or '' for none.")] | None = (
        None
    )
    accept: fields.Acceptance | None = None
    gates: fields.Gates | None = None
    archived: Annotated[bool, Meta(description="Put it out of sight, or back.")] | None = None


class ListTasks(Page, frozen=True, kw_only=True):
    status: Annotated[Status, Meta(description="Only those in this status.")] | None = None
    mine: Annotated[bool, Meta(description="Only those you hold.")] = False
    archived: Annotated[bool, Meta(description="Archived ones too.")] = False


class ReadyTasks(Page, frozen=True, kw_only=True):
    parent: fields.TaskRef | None = None


class TreeOf(InProject, frozen=True, kw_only=True):
    id: fields.TaskRef | None = None


class ChildrenOf(Page, frozen=True, kw_only=True):
    id: fields.TaskRef


class DependTask(OneTask, frozen=True, kw_only=True):
    on: fields.TaskRefs
    remove: Annotated[bool, Meta(description="Take the dependency away instead.")] = False


class StartTask(OneTask, frozen=True, kw_only=True):
    lease: fields.Lease = limits.lease_seconds_default * 1000


class BlockTask(HeldTask, frozen=True, kw_only=True):
    reason: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=limits.reason_chars_max,
            description="What it needs.",
            extra={"text": True},
        ),
    ]


class CompleteTask(HeldTask, frozen=True, kw_only=True):
    summary: Annotated[
        str,
        Meta(max_length=limits.report_chars_max, description="What was done.", extra={"text": True}),
    ] = ""


class ReportTask(HeldTask, frozen=True, kw_only=True):
    kind: Annotated[ReportKind, Meta(description="What the report says.")]
    text: fields.ReportText


class ReportedTask(MovedTask, frozen=True, kw_only=True):
    report: Report


class Until(enum.StrEnum):
    """What a wait on tasks ends with."""

    COMPLETED = "completed"
    READY = "ready"
    ANY_CHANGE = "any-change"


class WaitTasks(InProject, frozen=True, kw_only=True):
    ids: Annotated[
        list[fields.TaskRef],
        Meta(min_length=1, max_length=limits.wait_ids_max, extra={"complete": "task", "label": "IDS"}),
    ]
    until: Annotated[Until, Meta(description="What ends the wait.")] = Until.COMPLETED
    timeout: fields.Timeout = limits.wait_seconds_default * 1000


class WaitedTasks(msgspec.Struct, frozen=True, kw_only=True):
    """How a wait ended: `reached` is false when a task ended in a state that was not waited for."""

    tasks: list[Task]
    reached: bool


class AddDocument(OneTask, frozen=True, kw_only=True):
    title: fields.Title
    content: Annotated[
        bytes,
        Meta(
            max_length=limits.document_bytes_max,
            description="A file's content (base 64 in JSON).",
            extra={"file": "file_name", "flag": "file", "label": "FILE"},
        ),
    ]
    file_name: Annotated[str, Meta(max_length=255, pattern=r"^[^\x00-\x1f/]*$", description="The file's name.")] = ""


class DocumentList(Cursor, frozen=True, kw_only=True):
    documents: list[Document]


class OneDocument(InProject, frozen=True, kw_only=True):
    id: Annotated[str, Meta(min_length=1, max_length=100, description="A document's id.", extra={"label": "DOC"})]


class DocumentContent(Document, frozen=True, kw_only=True):
    content: bytes


class Deleted(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    ref: str


_ABOUT = (NotFound, Ambiguous, NotPermitted)
_MOVE = (*_ABOUT, IllegalMove, ClaimLost)
_HIDE = ("project",)

CREATE = Operation(
    "task.create",
    CreateTask,
    MovedTask,
    callers=Callers.KNOWN,
    http=POST("/api/tasks"),
    summary="Create a task, with what it waits on.",
    effect=Effect.WRITE,
    command=Command("task create", ("title",)),
    examples=(
        'maestro task create "Parse the header"',
        'maestro task create "Write the parser" --depends-on "#1" --priority high',
        'maestro task create "Ship it" --gate "make test" --accept "The notes name every change"',
    ),
    errors=(NotFound, Ambiguous, NotPermitted, Cycle, Conflict),
)
LIST = Operation(
    "task.list",
    ListTasks,
    TaskList,
    callers=Callers.KNOWN,
    http=GET("/api/tasks"),
    summary="List a project's tasks.",
    effect=Effect.READ,
    command=Command("task list"),
    examples=(
        "maestro task list",
        "maestro task list --status in_progress",
        "maestro task list --mine --json",
    ),
    errors=_ABOUT,
)
READY = Operation(
    "task.ready",
    ReadyTasks,
    TaskList,
    callers=Callers.KNOWN,
    http=GET("/api/tasks/ready"),
    summary="List what can be started now, most urgent first.",
    effect=Effect.READ,
    command=Command("task ready", ("parent",)),
    examples=("maestro task ready", "maestro task ready vc#3"),
    errors=_ABOUT,
)
BLOCKED = Operation(
    "task.blocked",
    Page,
    WaitingTasks,
    callers=Callers.KNOWN,
    http=GET("/api/tasks/blocked"),
    summary="List what cannot be started yet, and what each waits on.",
    effect=Effect.READ,
    command=Command("task blocked"),
    examples=("maestro task blocked",),
    errors=_ABOUT,
)
TREE = Operation(
    "task.tree",
    TreeOf,
    TaskTree,
    callers=Callers.KNOWN,
    http=GET("/api/tasks/tree"),
    summary="Show tasks under their parents, with what each waits on.",
    effect=Effect.READ,
    command=Command("task tree", ("id",)),
    examples=("maestro task tree", "maestro task tree vc#3"),
    errors=_ABOUT,
)
SHOW = Operation(
    "task.show",
    OneTask,
    TaskDetail,
    callers=Callers.KNOWN,
    http=GET("/api/tasks/{id}"),
    summary="Show one task with everything around it.",
    effect=Effect.READ,
    command=Command("task show", ("id",)),
    examples=("maestro task show vc#12",),
    errors=_ABOUT,
)
CHILDREN = Operation(
    "task.children",
    ChildrenOf,
    TaskList,
    callers=Callers.KNOWN,
    http=GET("/api/tasks/{id}/children"),
    summary="List a task's children.",
    effect=Effect.READ,
    command=Command("task children", ("id",)),
    examples=("maestro task children vc#3",),
    errors=_ABOUT,
)
EDIT = Operation(
    "task.edit",
    EditTask,
    MovedTask,
    callers=Callers.MOVERS,
    http=PATCH("/api/tasks/{id}"),
    summary="Change what a task says.",
    effect=Effect.WRITE,
    command=Command("task edit", ("id",)),
    examples=('maestro task edit "#4" --title "A better title" --priority high',),
    errors=(*_ABOUT, ClaimLost, Cycle, Conflict),
)
START = Operation(
    "task.start",
    StartTask,
    MovedTask,
    callers=Callers.KNOWN,
    http=POST("/api/tasks/{id}/start"),
    summary="Claim a ready task and start it.",
    effect=Effect.WRITE,
    command=Command("task start", ("id",), aliases=("task claim",)),
    examples=('maestro task claim "#4" --lease 10m',),
    errors=(*_MOVE, NotReady),
)
RELEASE = Operation(
    "task.release",
    HeldTask,
    MovedTask,
    callers=Callers.MOVERS,
    http=POST("/api/tasks/{id}/release"),
    summary="Give a claimed task back.",
    effect=Effect.WRITE,
    command=Command("task release", ("id",)),
    examples=('maestro task release "#4"',),
    errors=_MOVE,
)
COMPLETE = Operation(
    "task.complete",
    CompleteTask,
    MovedTask,
    callers=Callers.MOVERS,
    http=POST("/api/tasks/{id}/complete"),
    summary="Report a task done. With gates it goes to review first; an owner completes it from there.",
    effect=Effect.WRITE,
    command=Command("task complete", ("id",)),
    examples=('maestro task complete "#4" --summary "Parser and tests"',),
    errors=_MOVE,
)
REJECT = Operation(
    "task.reject",
    ReasonedTask,
    MovedTask,
    callers=Callers.OWNERS,
    http=POST("/api/tasks/{id}/reject"),
    summary="Send a task in review back to work.",
    effect=Effect.WRITE,
    command=Command("task reject", ("id",)),
    examples=('maestro task reject "#4" --reason "The tests do not run"',),
    errors=_MOVE,
)
BLOCK = Operation(
    "task.block",
    BlockTask,
    MovedTask,
    callers=Callers.MOVERS,
    http=POST("/api/tasks/{id}/block"),
    summary="Say that a task needs something from outside.",
    effect=Effect.WRITE,
    command=Command("task block", ("id",)),
    examples=('maestro task block "#4" --reason "Needs the API key"',),
    errors=_MOVE,
)
UNBLOCK = Operation(
    "task.unblock",
    HeldTask,
    MovedTask,
    callers=Callers.MOVERS,
    http=POST("/api/tasks/{id}/unblock"),
    summary="Let a blocked task go on.",
    effect=Effect.WRITE,
    command=Command("task unblock", ("id",)),
    examples=('maestro task unblock "#4"',),
    errors=_MOVE,
)
FAIL = Operation(
    "task.fail",
    ReasonedTask,
    MovedTask,
    callers=Callers.MOVERS,
    http=POST("/api/tasks/{id}/fail"),
    summary="Give a task up as failed.",
    effect=Effect.WRITE,
    command=Command("task fail", ("id",)),
    examples=('maestro task fail "#4" --reason "The format is not documented"',),
    errors=_MOVE,
)
CANCEL = Operation(
    "task.cancel",
    ReasonedTask,
    MovedTask,
    callers=Callers.OWNERS,
    http=POST("/api/tasks/{id}/cancel"),
    summary="Call a task off.",
    effect=Effect.WRITE,
    command=Command("task cancel", ("id",)),
    examples=('maestro task cancel "#4" --reason "Not needed"',),
    errors=_MOVE,
)
REOPEN = Operation(
    "task.reopen",
    OneTask,
    MovedTask,
    callers=Callers.OWNERS,
    http=POST("/api/tasks/{id}/reopen"),
    summary="Open a finished task again.",
    effect=Effect.WRITE,
    command=Command("task reopen", ("id",)),
    examples=('maestro task reopen "#4"',),
    errors=_MOVE,
)
REMOVE = Operation(
    "task.delete",
    OneTask,
    Deleted,
    callers=Callers.OWNERS,
    http=DELETE("/api/tasks/{id}"),
    summary="Delete a task that nothing else rests on.",
    effect=Effect.WRITE,
    command=Command("task delete", ("id",)),
    examples=('maestro task delete "#4"',),
    errors=(*_ABOUT, Conflict),
)
DEPEND = Operation(
    "task.depend",
    DependTask,
    MovedTask,
    callers=Callers.MOVERS,
    http=POST("/api/tasks/{id}/dependencies"),
    summary="Let a task wait on others, or no longer.",
    effect=Effect.WRITE,
    command=Command("task depend", ("id",)),
    examples=('maestro task depend "#4" --on "#2,#3"', 'maestro task depend "#4" --on "#2" --remove'),
    errors=(*_ABOUT, Cycle, Conflict),
)
WAIT = Operation(
    "task.wait",
    WaitTasks,
    WaitedTasks,
    callers=Callers.KNOWN,
    http=GET("/api/tasks/wait"),
    summary="Wait until tasks are completed, ready or changed.",
    effect=Effect.ACTION,
    command=Command("task wait", ("ids",)),
    examples=('maestro task wait "#4,#5" --timeout 10m', 'maestro task wait "#4" --until any-change'),
    errors=(*_ABOUT, TimedOut),
)
REPORT = Operation(
    "task.report",
    ReportTask,
    ReportedTask,
    callers=Callers.MOVERS,
    http=POST("/api/tasks/{id}/reports"),
    summary="Report on a task; the report moves it.",
    effect=Effect.WRITE,
    command=Command("task report", ("kind", "id", "text")),
    examples=(
        'maestro task report progress "#4" "Half of the cases pass"',
        'maestro task report complete "#4" "All pass"',
    ),
    errors=_MOVE,
)
DOCUMENT_ADD = Operation(
    "task.docs.add",
    AddDocument,
    Document,
    callers=Callers.MOVERS,
    http=POST("/api/tasks/{id}/documents"),
    summary="Attach a document to a task.",
    effect=Effect.WRITE,
    command=Command("task docs add", ("id", "title")),
    examples=('maestro task docs add "#4" "Test report" --file report.md',),
    errors=(*_ABOUT, ClaimLost, TooLarge, Conflict),
)
DOCUMENT_LIST = Operation(
    "task.docs.list",
    OneTask,
    DocumentList,
    callers=Callers.KNOWN,
    http=GET("/api/tasks/{id}/documents"),
    summary="List a task's documents.",
    effect=Effect.READ,
    command=Command("task docs list", ("id",)),
    examples=('maestro task docs list "#4"',),
    errors=_ABOUT,
)
DOCUMENT_SHOW = Operation(
    "task.docs.show",
    OneDocument,
    DocumentContent,
    callers=Callers.KNOWN,
    http=GET("/api/documents/{id}"),
    summary="Print a document.",
    effect=Effect.READ,
    command=Command("task docs show", ("id",)),
    examples=("maestro task docs show doc_01…",),
    errors=_ABOUT,
)

ALL = (
    CREATE, LIST, READY, BLOCKED, TREE, WAIT, SHOW, CHILDREN, EDIT, START, RELEASE, COMPLETE, REJECT, BLOCK, UNBLOCK,
    FAIL, CANCEL, REOPEN, REMOVE, DEPEND, REPORT, DOCUMENT_ADD, DOCUMENT_LIST, DOCUMENT_SHOW,
)  # fmt: skip
