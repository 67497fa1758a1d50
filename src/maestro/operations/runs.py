"""Runs: Maestro starts sessions for a tree of tasks, without a coordinating model."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import Meta

from maestro.core import limits
from maestro.core.errors import Conflict, NotFound, NotPermitted
from maestro.domain.callers import Callers
from maestro.domain.conversations import AskPolicy
from maestro.domain.runs import Run, RunStrategy
from maestro.domain.sessions import SessionStatus
from maestro.domain.tasks import TaskStatus
from maestro.operations import fields
from maestro.operations.base import GET, POST, CommandSyntax, Effect, InProject, ListPage, Operation
from maestro.operations.task_shapes import TaskReference

_RunRef = Annotated[str, Meta(min_length=1, max_length=100, description="A run's id.", extra={"label": "RUN"})]
_Argument = Annotated[str, Meta(max_length=limits.command_chars_max, pattern=fields.TEXT)]


class StartRun(InProject, frozen=True, kw_only=True):
    task: fields.TaskRef
    strategy: Annotated[RunStrategy, Meta(description="The order in which sessions work on the tasks.")] = (
        RunStrategy.DAG
    )
    max_parallel: Annotated[
        int, Meta(ge=1, le=limits.run_parallel_max, description="How many sessions at once.", extra={"label": "N"})
    ] = limits.run_parallel_default
    attempts: Annotated[
        int,
        Meta(
            ge=1,
            le=limits.run_attempts_max,
            description="Attempts per task; in a race, attempts at once.",
            extra={"label": "N"},
        ),
    ] = limits.run_attempts_default
    member: (
        Annotated[fields.Name, Meta(description="The member that works on the tasks.", extra={"label": "NAME"})]
        | None
    ) = None
    tool: (
        Annotated[
            str, Meta(max_length=64, pattern=fields.NAME, description="The agent program.", extra={"label": "T"})
        ]
        | None
    ) = None
    allow: fields.Allowed = []
    asks: fields.Asks = AskPolicy.ASK
    worktree: Annotated[
        bool, Meta(description="Give each session its own branch; merge it when the task is done.")
    ] = False
    detach: Annotated[bool, Meta(description="Do not follow the run.")] = False
    arguments: Annotated[
        list[_Argument],
        Meta(
            max_length=500, description="A program to run as the agent.", extra={"repeat": True, "label": "PROGRAM"}
        ),
    ] = []
    path: Annotated[str, Meta(max_length=4096, pattern=fields.TEXT)] = ""


class OneRun(InProject, frozen=True, kw_only=True):
    id: _RunRef


class ShowRun(OneRun, frozen=True, kw_only=True):
    follow: Annotated[bool, Meta(description="Follow the run to its end (-f). Ctrl-C stops only the display.")] = (
        False
    )


class RunTask(msgspec.Struct, frozen=True, kw_only=True):
    """A task of a run in an overview."""

    id: str
    ref: str
    title: str
    status: TaskStatus
    ready: bool
    attempts: int
    session: str | None
    session_status: SessionStatus | None
    since: datetime | None
    waits_on: list[str]  # dependencies that are not completed
    depends_on: list[str] = []
    started_at: datetime | None = None
    finished_at: datetime | None = None
    note: str = ""
    held_by: str | None = None  # the holder, if the holder is not a session of the run


class RunView(Run, frozen=True, kw_only=True):
    """A run with the status of each task."""

    task: str
    title: str = ""
    tasks: list[RunTask]
    counts: dict[str, int]
    found: list[TaskReference] = []  # tasks that sessions of the run discovered


class ListRuns(InProject, frozen=True, kw_only=True):
    limit: fields.Limit = limits.page_items_default
    cursor: fields.PageCursor = ""


class RunInList(Run, frozen=True, kw_only=True):
    """A run with its task."""

    task: str
    title: str


class RunList(ListPage, frozen=True, kw_only=True):
    runs: list[RunInList]


START = Operation(
    "run.start",
    StartRun,
    RunView,
    callers=Callers.OWNERS,
    http=POST("/api/runs"),
    summary="Start sessions for a task and all tasks below it, and follow the run.",
    effect=Effect.STREAM,
    command=CommandSyntax("run", ("task",), hidden=("path",), rest_field="arguments"),
    examples=('maestro run "#1" --max-parallel 4 -- ./work.sh', 'maestro run "#1" --strategy race --attempts 3'),
    errors=(NotFound, NotPermitted, Conflict),
)
LIST = Operation(
    "run.list",
    ListRuns,
    RunList,
    callers=Callers.KNOWN,
    http=GET("/api/runs"),
    summary="List a project's runs, newest first.",
    effect=Effect.READ,
    command=CommandSyntax("run list"),
    examples=("maestro run list",),
    errors=(NotFound,),
)
SHOW = Operation(
    "run.show",
    ShowRun,
    RunView,
    callers=Callers.KNOWN,
    http=GET("/api/runs/{id}"),
    summary="Show a run and the status of each task.",
    effect=Effect.STREAM,
    command=CommandSyntax("run show", ("id",)),
    examples=("maestro run show run_01…", "maestro run show run_01… --follow"),
    errors=(NotFound,),
)
STOP = Operation(
    "run.stop",
    OneRun,
    Run,
    callers=Callers.OWNERS,
    http=POST("/api/runs/{id}/stop"),
    summary="Stop a run and its sessions; the run can be resumed.",
    effect=Effect.ACTION,
    command=CommandSyntax("run stop", ("id",)),
    examples=("maestro run stop run_01…",),
    errors=(NotFound, NotPermitted, Conflict),
)
RESUME = Operation(
    "run.resume",
    OneRun,
    RunView,
    callers=Callers.OWNERS,
    http=POST("/api/runs/{id}/resume"),
    summary="Resume a run that was stopped or has failed.",
    effect=Effect.STREAM,
    command=CommandSyntax("run resume", ("id",)),
    examples=("maestro run resume run_01…",),
    errors=(NotFound, NotPermitted, Conflict),
)

ALL = (START, LIST, SHOW, STOP, RESUME)
