"""Requests about tasks, and their answers."""

from __future__ import annotations

import enum
from typing import Annotated

import msgspec
from msgspec import Meta

from maestro.core import limits
from maestro.domain.conversations import SessionUsage
from maestro.domain.documents import Document, ReportKind, TaskReport
from maestro.domain.gates import GateResult
from maestro.domain.priorities import Priority
from maestro.domain.tasks import Task, TaskStatus
from maestro.operations import fields
from maestro.operations.base import InProject, ListPage


class OneTask(InProject, frozen=True, kw_only=True):
    id: fields.TaskRef


class HeldTask(OneTask, frozen=True, kw_only=True):
    fence: fields.Fence | None = None


class ReasonedTask(HeldTask, frozen=True, kw_only=True):
    reason: fields.Reason = ""


class TaskPage(InProject, frozen=True, kw_only=True):
    limit: fields.Limit = limits.page_items_default
    cursor: fields.PageCursor = ""


class TaskReference(msgspec.Struct, frozen=True):
    """A short reference to a task."""

    id: str
    ref: str
    title: str
    status: TaskStatus


class TaskList(ListPage, frozen=True, kw_only=True):
    tasks: list[Task]


class ReadyTaskList(TaskList, frozen=True, kw_only=True):
    """The ready tasks. Without a ready task, `not_ready` counts the open tasks by status."""

    not_ready: dict[str, int] = {}


class WaitingTask(Task, frozen=True, kw_only=True):
    """A task with its open blockers."""

    blockers: list[TaskReference]
    waits_for_stage: str | None = None


class WaitingTasks(ListPage, frozen=True, kw_only=True):
    tasks: list[WaitingTask]


class TaskDetail(WaitingTask, frozen=True, kw_only=True):
    """A task with its links, reports, documents, evidence and usage."""

    dependencies: list[TaskReference]
    dependants: list[TaskReference]
    children: list[TaskReference]
    found: list[TaskReference]
    reports: list[TaskReport]
    documents: list[Document]
    evidence: list[GateResult] = []
    origin: TaskReference | None = None  # the task during which this task was found
    usage: list[SessionUsage] = []  # usage of sessions for the task, if their programs report usage


class MovedTask(Task, frozen=True, kw_only=True):
    """A task after a change, with the tasks that the change unblocked, and warnings."""

    unblocked: list[str] = []
    warnings: list[str] = []


class TaskNode(Task, frozen=True, kw_only=True):
    """A task in a tree."""

    depth: int
    depends_on: list[str]


class TaskTree(msgspec.Struct, frozen=True, kw_only=True):
    tasks: list[TaskNode]
    truncated: bool = False


_Priority = Annotated[Priority, Meta(description="The order in which ready tasks are offered.")]
_OrNone = Annotated[str, Meta(max_length=limits.name_chars_max, pattern=fields.NAME_OR_EMPTY)]


class CreateTask(InProject, frozen=True, kw_only=True):
    title: fields.Title
    description: fields.Description = ""
    stage: fields.Stage | None = None
    found_in: Annotated[fields.TaskRef, Meta(description="The task during which the new task was found.")] | None = (
        None
    )
    parent: Annotated[fields.TaskRef, Meta(description="The parent task.")] | None = None
    depends_on: Annotated[fields.TaskRefs, Meta(description="The tasks to wait for, separated by commas.")] = []
    priority: _Priority = Priority.NORMAL
    member: Annotated[fields.Name, Meta(description="The member that shall do the task.")] | None = None
    accept: fields.Acceptance = []
    gates: fields.Gates = []


class EditTask(OneTask, frozen=True, kw_only=True):
    title: fields.Title | None = None
    description: fields.Description | None = None
    stage: Annotated[_OrNone, Meta(description="A stage, or '' for none.", extra={"label": "STAGE"})] | None = None
    parent: (
        Annotated[
            str,
            Meta(max_length=200, description="A parent, or '' for none.", extra={"label": "ID", "complete": "task"}),
        ]
        | None
    ) = None
    priority: _Priority | None = None
    member: Annotated[_OrNone, Meta(description="A member, or '' for none.", extra={"label": "NAME"})] | None = None
    accept: fields.Acceptance | None = None
    gates: fields.Gates | None = None
    archived: Annotated[bool, Meta(description="Hide the task from lists, or show it again.")] | None = None


class ListTasks(TaskPage, frozen=True, kw_only=True):
    status: Annotated[TaskStatus, Meta(description="Only tasks in this status.")] | None = None
    mine: Annotated[bool, Meta(description="Only tasks you hold.")] = False
    archived: Annotated[bool, Meta(description="Archived tasks too.")] = False


class ReadyTasks(TaskPage, frozen=True, kw_only=True):
    parent: fields.TaskRef | None = None


class ShowTaskTree(InProject, frozen=True, kw_only=True):
    id: fields.TaskRef | None = None


class ListChildren(TaskPage, frozen=True, kw_only=True):
    id: fields.TaskRef


class DependTask(OneTask, frozen=True, kw_only=True):
    on: fields.TaskRefs
    remove: Annotated[bool, Meta(description="Remove the dependency instead.")] = False


class StartTask(OneTask, frozen=True, kw_only=True):
    lease: fields.Lease = limits.task_lease_seconds_default * 1000


class BlockTask(HeldTask, frozen=True, kw_only=True):
    reason: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=limits.reason_chars_max,
            pattern=fields.TEXT,
            description="What the task needs.",
            extra={"text": True},
        ),
    ]


class CompleteTask(HeldTask, frozen=True, kw_only=True):
    summary: Annotated[
        str,
        Meta(
            max_length=limits.report_chars_max,
            pattern=fields.TEXT,
            description="A summary of the work.",
            extra={"text": True, "label": "TEXT"},
        ),
    ] = ""


class ReportTask(HeldTask, frozen=True, kw_only=True):
    kind: Annotated[ReportKind, Meta(description="The kind of report.")]
    text: fields.ReportText


class ReportedTask(MovedTask, frozen=True, kw_only=True):
    report: TaskReport


class TaskWaitUntil(enum.StrEnum):
    """The status or change that ends a wait for tasks."""

    COMPLETED = "completed"
    READY = "ready"
    ANY_CHANGE = "any-change"


class WaitTasks(InProject, frozen=True, kw_only=True):
    ids: Annotated[
        list[fields.TaskRef],
        Meta(
            min_length=1,
            max_length=limits.wait_ids_max,
            description="The tasks to wait on.",
            extra={"complete": "task", "label": "IDS"},
        ),
    ]
    until: Annotated[TaskWaitUntil, Meta(description="The end of the wait.")] = TaskWaitUntil.COMPLETED
    timeout: fields.Timeout = limits.wait_seconds_default * 1000


class WaitedTasks(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a wait. `reached` is false when a task ended in another status."""

    tasks: list[Task]
    reached: bool


class DeletedTask(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    ref: str
