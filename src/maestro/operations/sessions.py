"""Sessions: register, end, show, wait for, report and adopt."""

from __future__ import annotations

import enum
from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import Meta

from maestro.core import limits
from maestro.core.errors import Conflict, NameTaken, NotFound, NotPermitted, TimedOut
from maestro.domain.asks import Ask
from maestro.domain.callers import Callers, Role
from maestro.domain.conversations import SessionUsage
from maestro.domain.documents import ReportKind
from maestro.domain.sessions import Contact, Session, SessionMode, SessionStatus, StatusSignal
from maestro.operations import fields
from maestro.operations.base import GET, POST, CommandSyntax, Effect, InProject, ListPage, Operation, Request
from maestro.operations.task_shapes import MovedTask, TaskReference

_Pid = Annotated[
    int, Meta(ge=1, le=2**31 - 1, description="The process id of the agent program.", extra={"label": "PID"})
]
SessionRef = Annotated[
    str, Meta(max_length=100, description="A session: its id or name.", extra={"label": "SESSION"})
]

_Member = Annotated[
    str, Meta(max_length=65, pattern=fields.TEXT, description="The session's member.", extra={"label": "NAME"})
]
_Tool = Annotated[
    str, Meta(max_length=64, pattern=fields.NAME, description="The session's agent program.", extra={"label": "TOOL"})
]
_Since = Annotated[
    int,
    Meta(
        ge=0,
        le=2**62,
        description="With any-change: changes after this sequence number of the log also count.",
        extra={"label": "SEQ"},
    ),
]


class RegisterSession(InProject, frozen=True, kw_only=True):
    mode: Annotated[SessionMode, Meta(description="The purpose of the session.")] = SessionMode.EXECUTE
    name: fields.Name | None = None
    parent: SessionRef | None = None
    pid: _Pid | None = None
    member: _Member | None = None
    tool: _Tool | None = None
    task: Annotated[
        list[fields.TaskRef],
        Meta(max_length=limits.session_tasks_max, description="The session's tasks.", extra={"label": "IDS"}),
    ] = []
    path: Annotated[str, Meta(max_length=4096, pattern=fields.TEXT, description="The session's directory.")] = ""
    grant: fields.Grant | None = None
    numbered: Annotated[bool, Meta(description="If the name is taken, add the first free number: `ada-2`.")] = False


class RegisteredSession(Session, frozen=True, kw_only=True):
    """A new session with its token, which is shown only once, and its number of unread messages."""

    token: str
    unread: int = 0


class SendHeartbeat(Request, frozen=True, kw_only=True):
    status: Annotated[SessionStatus, Meta(description="What the session is doing.")] | None = None


class EndSession(InProject, frozen=True, kw_only=True):
    id: Annotated[SessionRef, Meta(description="The session to end, if not your own.")] | None = None
    status: Annotated[SessionStatus, Meta(description="The session's final status.")] = SessionStatus.STOPPED


class HeartbeatAnswer(Session, frozen=True, kw_only=True):
    """A session after its heartbeat, with the number of renewed claims."""

    renewed: int


class WhoAmI(Request, frozen=True, kw_only=True):
    """A request without fields: the server identifies the caller."""


class CallerIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """The caller as the server identifies it."""

    role: Role
    name: str
    human: str
    session: Session | None = None
    project: str | None = None
    address: str | None = None
    held: list[str] = []
    coordinator: Contact | None = None
    unread: int = 0


class SessionWaitUntil(enum.StrEnum):
    """The status or change that ends a wait for sessions."""

    COMPLETED = "completed"
    ANY_CHANGE = "any-change"
    WORKING = "working"
    IDLE = "idle"
    NEEDS_INPUT = "needs_input"
    FAILED = "failed"
    STOPPED = "stopped"
    LOST = "lost"


class StatusFilter(enum.StrEnum):
    """A status to filter by; `any` shows all sessions."""

    ANY = "any"
    SPAWNING = "spawning"
    WORKING = "working"
    IDLE = "idle"
    NEEDS_INPUT = "needs_input"
    COMPLETED = "completed"
    FAILED = "failed"
    STOPPED = "stopped"
    LOST = "lost"


class ListSessions(InProject, frozen=True, kw_only=True):
    active: Annotated[bool, Meta(description="Only sessions that have not ended.")] = False
    status: (
        Annotated[
            StatusFilter,
            Meta(
                description="Only sessions in this status.", extra={"label": "STATUS", "bare": StatusFilter.ANY.value}
            ),
        ]
        | None
    ) = None
    siblings: Annotated[bool, Meta(description="Only sessions with the same coordinator as you.")] = False
    my_workers: Annotated[bool, Meta(description="Only sessions that you started.")] = False
    all_projects: Annotated[bool, Meta(description="The live sessions of all projects. Only for the person.")] = False
    limit: fields.Limit = limits.page_items_default
    cursor: fields.PageCursor = ""


class ListedSession(Session, frozen=True, kw_only=True):
    """A session in a list, with the facts by which the person tells sessions apart."""

    project: str  # the project's name
    branch: str | None = None  # the branch of the session's own worktree
    work: list[TaskReference] = []  # the held tasks, else the tasks for which the session was started
    unread: int = 0
    terminal: str = ""  # for example `tmux %5, pts/3`; empty if unknown
    last_prompt: str = ""  # the beginning of the person's last prompt; only the person sees it


class SessionList(ListPage, frozen=True, kw_only=True):
    sessions: list[ListedSession]


class OneSession(InProject, frozen=True, kw_only=True):
    id: Annotated[SessionRef, Meta(min_length=1, extra={"complete": "session", "label": "ID"})]


class SessionDetail(Session, frozen=True, kw_only=True):
    """A session with its coordinator, siblings, workers, tasks and asks."""

    coordinator: Contact | None
    siblings: list[Contact]
    workers: list[Contact]
    held: list[str]
    unread: int
    asks: list[Ask]
    work: list[TaskReference] = []  # the session's tasks
    usage: list[SessionUsage] = []  # the session's usage, if its program reports usage
    parked_until: datetime | None = None  # the provider's rate limit ends at this time


class SessionExplanation(msgspec.Struct, frozen=True, kw_only=True):
    """The evidence for a session's status."""

    session: Session
    signals: list[StatusSignal]
    is_lease_expired: bool
    has_sign_of_life: bool
    is_process_alive: bool | None
    verdict: str


class WaitSessions(InProject, frozen=True, kw_only=True):
    ids: Annotated[
        list[Annotated[str, Meta(min_length=1, max_length=100)]],
        Meta(
            min_length=1,
            max_length=limits.wait_ids_max,
            description="The sessions to wait for.",
            extra={"complete": "session", "label": "IDS"},
        ),
    ]
    until: Annotated[
        SessionWaitUntil, Meta(description="The end of the wait: a status, or any change.", extra={"label": "WHAT"})
    ] = SessionWaitUntil.COMPLETED
    timeout: fields.Timeout = limits.wait_seconds_default * 1000
    since: _Since | None = None


class WaitedSessions(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a wait. `reached` is false if a session ended in another status. `seq` is the next `since`."""

    sessions: list[Session]
    reached: bool
    seq: int


class ReportSession(Request, frozen=True, kw_only=True):
    kind: Annotated[ReportKind, Meta(description="The kind of report.", extra={"label": "KIND"})]
    text: fields.ReportText


class ReportedSession(Session, frozen=True, kw_only=True):
    """A session after its report, with the task that the report moved."""

    task: MovedTask | None


class AdoptSessions(InProject, frozen=True, kw_only=True):
    ids: Annotated[
        list[Annotated[str, Meta(min_length=1, max_length=100)]],
        Meta(
            min_length=1,
            max_length=limits.wait_ids_max,
            description="Workers; or an ended coordinator, for all of its workers.",
            extra={"complete": "session", "label": "IDS"},
        ),
    ]
    by: (
        Annotated[SessionRef, Meta(description="The new coordinator, if not you.", extra={"label": "SESSION"})] | None
    ) = None


class AdoptedSessions(msgspec.Struct, frozen=True, kw_only=True):
    """Adopted sessions and their new coordinator."""

    by: str
    sessions: list[Session]


REGISTER = Operation(
    "session.register",
    RegisterSession,
    RegisteredSession,
    callers=Callers.KNOWN,
    http=POST("/api/sessions"),
    summary="Register an agent as a session; also for agents started by hand.",
    effect=Effect.WRITE,
    command=CommandSyntax("session register", hidden=("path",)),
    examples=("maestro session register --mode execute --name parser --json",),
    errors=(NotFound, NotPermitted, NameTaken, Conflict),
)
HEARTBEAT = Operation(
    "session.heartbeat",
    SendHeartbeat,
    HeartbeatAnswer,
    callers=Callers.SESSIONS,
    http=POST("/api/sessions/heartbeat"),
    summary="Give a sign of life; it renews the session's claims.",
    effect=Effect.ACTION,
    command=CommandSyntax("session heartbeat"),
    examples=("maestro session heartbeat --status working",),
    errors=(NotFound, Conflict),
)
END = Operation(
    "session.end",
    EndSession,
    Session,
    callers=Callers.KNOWN,
    http=POST("/api/sessions/end"),
    summary="End a session: its token becomes invalid, its claims are released.",
    effect=Effect.WRITE,
    command=CommandSyntax("session end", ("id",)),
    examples=("maestro session end", "maestro session end parser --status failed"),
    errors=(NotFound, NotPermitted, Conflict),
)
WHOAMI = Operation(
    "caller.whoami",
    WhoAmI,
    CallerIdentity,
    callers=Callers.ANYONE,
    http=GET("/api/whoami"),
    summary="Show how the server identifies you.",
    effect=Effect.READ,
    command=CommandSyntax("whoami"),
    examples=("maestro whoami",),
)

LIST = Operation(
    "session.list",
    ListSessions,
    SessionList,
    callers=Callers.KNOWN,
    http=GET("/api/sessions"),
    summary="List sessions with their status.",
    effect=Effect.SCAN,
    command=CommandSyntax("session list"),
    examples=(
        "maestro session list --active",
        "maestro session list --siblings",
        "maestro session list --my-workers",
        "maestro session list --all-projects",
    ),
    errors=(NotFound,),
)
SHOW = Operation(
    "session.show",
    OneSession,
    SessionDetail,
    callers=Callers.KNOWN,
    http=GET("/api/sessions/{id}"),
    summary="Show a session with its coordinator, siblings and workers.",
    effect=Effect.READ,
    command=CommandSyntax("session show", ("id",)),
    examples=("maestro session show parser",),
    errors=(NotFound,),
)
EXPLAIN = Operation(
    "session.explain",
    OneSession,
    SessionExplanation,
    callers=Callers.KNOWN,
    http=GET("/api/sessions/{id}/explain"),
    summary="Explain a session's status.",
    effect=Effect.ACTION,
    command=CommandSyntax("session explain", ("id",)),
    examples=("maestro session explain parser",),
    errors=(NotFound,),
)
WAIT = Operation(
    "session.wait",
    WaitSessions,
    WaitedSessions,
    callers=Callers.KNOWN,
    http=POST("/api/sessions/wait"),
    summary="Block until sessions reach a status; an ended session answers at once.",
    effect=Effect.ACTION,
    command=CommandSyntax("session wait", ("ids",)),
    examples=("maestro session wait parser,lexer", "maestro session wait parser --until any-change --timeout 5m"),
    errors=(NotFound, TimedOut),
)
REPORT = Operation(
    "session.report",
    ReportSession,
    ReportedSession,
    callers=Callers.SESSIONS,
    http=POST("/api/sessions/report"),
    summary="Report to your coordinator; the report moves the task you hold.",
    effect=Effect.WRITE,
    command=CommandSyntax("session report", ("kind", "text")),
    examples=(
        'maestro session report progress "half of the parser"',
        'maestro session report complete "all tests pass"',
    ),
    errors=(NotFound, Conflict),
)
ADOPT = Operation(
    "session.adopt",
    AdoptSessions,
    AdoptedSessions,
    callers=Callers.OWNERS,
    http=POST("/api/sessions/adopt"),
    summary="Become the coordinator of workers, or of all workers of an ended coordinator.",
    effect=Effect.WRITE,
    command=CommandSyntax("session adopt", ("ids",)),
    examples=("maestro session adopt old-boss --by new-boss",),
    errors=(NotFound, NotPermitted, Conflict),
)

ALL = (REGISTER, HEARTBEAT, END, LIST, SHOW, EXPLAIN, WAIT, REPORT, ADOPT, WHOAMI)
