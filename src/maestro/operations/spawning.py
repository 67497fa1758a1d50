"""Sessions that Maestro starts: spawn, prompt, interrupt, stop and resume; their manifests, prompts and templates."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from maestro.core import limits
from maestro.core.errors import (
    Conflict,
    Invalid,
    NotConfirmed,
    NotFound,
    NotPermitted,
    NotReady,
    NotStarted,
    TimedOut,
)
from maestro.domain.callers import Callers
from maestro.domain.conversations import AskPolicy, DriverKind
from maestro.domain.manifests import Manifest
from maestro.domain.members import Permission
from maestro.domain.messages import ReceiptStep
from maestro.domain.sessions import Session, SessionMode
from maestro.operations import fields
from maestro.operations.base import GET, POST, CommandSyntax, Effect, InProject, Operation, Request
from maestro.operations.mail_shapes import SentMail
from maestro.operations.sessions import OneSession
from maestro.wire import frames

_Argument = Annotated[str, Meta(max_length=limits.command_chars_max, pattern=fields.TEXT)]
_Text = Annotated[
    str,
    Meta(
        max_length=limits.message_chars_max,
        pattern=fields.TEXT,
        description="The session's directive, as free text.",
        extra={"text": True, "label": "TEXT"},
    ),
]

_Model = Annotated[
    str, Meta(max_length=100, pattern=fields.LINE, description="The session's model.", extra={"label": "M"})
]
_TemplateName = Annotated[
    str, Meta(max_length=100, pattern=fields.NAME, description="The session's workflow.", extra={"label": "NAME"})
]
_Subject = Annotated[
    str,
    Meta(
        max_length=limits.subject_chars_max, description="The directive's subject, on one line.", extra={"label": "S"}
    ),
]


class SpawnSession(InProject, frozen=True, kw_only=True):
    task: Annotated[
        list[fields.TaskRef],
        Meta(max_length=limits.session_tasks_max, description="The session's tasks.", extra={"label": "IDS"}),
    ] = []
    mode: Annotated[SessionMode, Meta(description="The purpose of the session.")] = SessionMode.EXECUTE
    strategy: Annotated[
        str,
        Meta(
            max_length=64, pattern=fields.NAME_OR_EMPTY, description="The session's strategy.", extra={"label": "S"}
        ),
    ] = ""
    member: Annotated[
        list[fields.Name], Meta(max_length=20, description="The session's members.", extra={"label": "NAMES"})
    ] = []
    team: (
        Annotated[fields.Name, Meta(description="The team that the session leads or works in.", extra={"label": "T"})]
        | None
    ) = None
    skill: Annotated[
        list[_Argument],
        Meta(
            max_length=limits.skills_max,
            description="A skill for the session: a folder of `.maestro/skills`.",
            extra={"repeat": True, "label": "S"},
        ),
    ] = []
    reference: Annotated[
        list[fields.TaskRef],
        Meta(max_length=50, description="Tasks to read for background.", extra={"label": "IDS"}),
    ] = []
    tool: (
        Annotated[
            str, Meta(max_length=64, pattern=fields.NAME, description="The agent program.", extra={"label": "T"})
        ]
        | None
    ) = None
    model: _Model | None = None
    permission: Annotated[Permission, Meta(description="What the session may do to files without asking.")] | None = (
        None
    )
    grant: fields.Grant | None = None
    template: _TemplateName | None = None
    subject: _Subject = ""
    message: _Text = ""
    worktree: Annotated[bool, Meta(description="Give the session its own checkout and branch.")] = False
    name: fields.Name | None = None
    driver: Annotated[DriverKind, Meta(description="How Maestro communicates with the program.")] | None = None
    allow: fields.Allowed = []
    asks: fields.Asks = AskPolicy.ASK
    dry_run: Annotated[bool, Meta(description="Only show the prompts; start no session.")] = False
    arguments: Annotated[
        list[_Argument],
        Meta(
            max_length=500, description="A program to run as the agent.", extra={"repeat": True, "label": "PROGRAM"}
        ),
    ] = []
    path: Annotated[str, Meta(max_length=4096, pattern=fields.TEXT, description="The directory to start in.")] = ""


class SpawnedSession(Session, frozen=True, kw_only=True):
    """A session that is being started. A dry run starts no session and returns the prompts."""

    strategy: str
    template: str
    permission: Permission
    directory: str
    branch: str | None = None
    epoch: int = 1  # the number of this start of the session
    warnings: list[str] = []  # differences from the project's settings
    dry_run: bool = False
    manifest: Manifest | None = None
    system_prompt: str | None = None
    task_prompt: str | None = None


class RunnerReport(Request, frozen=True, kw_only=True):
    report: Annotated[
        str,
        Meta(
            max_length=frames.PAYLOAD_BYTES_MAX,
            description="A runner's report, as JSON.",
            extra={"label": "JSON"},
        ),
    ]
    secret: Annotated[
        str,
        Meta(max_length=limits.name_chars_max, description="The runner's own secret, which the agent does not have."),
    ] = ""


class RunnerReportAnswer(msgspec.Struct, frozen=True, kw_only=True):
    kind: str


class PromptSession(OneSession, frozen=True, kw_only=True):
    text: Annotated[_Text, Meta(min_length=1)]
    wait_for: Annotated[ReceiptStep, Meta(description="Block until the message has reached this step.")] | None = None
    timeout: fields.Timeout = limits.wait_seconds_default * 1000


class StopSession(OneSession, frozen=True, kw_only=True):
    """The session to stop, and how long to wait for its end."""

    timeout: fields.Timeout = (limits.stop_grace_seconds + 2) * 1000


class ShowPrompt(OneSession, frozen=True, kw_only=True):
    system: Annotated[bool, Meta(description="Only the system prompt.")] = False
    task: Annotated[bool, Meta(description="Only the task prompt.")] = False


class SessionPrompts(msgspec.Struct, frozen=True, kw_only=True):
    """The prompts that a session was started with."""

    session_id: str
    system_prompt: str | None
    task_prompt: str | None


class TemplateInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A workflow that sessions can follow."""

    name: str
    mode: SessionMode
    strategy: str
    summary: str
    phases: list[str]
    source: str
    aliases: list[str]


class TemplateList(msgspec.Struct, frozen=True, kw_only=True):
    templates: list[TemplateInfo]


class ListTemplates(InProject, frozen=True, kw_only=True):
    path: Annotated[str, Meta(max_length=4096, pattern=fields.TEXT)] = ""


class OneTemplate(ListTemplates, frozen=True, kw_only=True):
    name: Annotated[str, Meta(min_length=1, max_length=100, description="A workflow.", extra={"label": "NAME"})]


class TemplateDetail(TemplateInfo, frozen=True, kw_only=True):
    intro: str
    texts: dict[str, Any]


SPAWN = Operation(
    "session.spawn",
    SpawnSession,
    SpawnedSession,
    callers=Callers.OWNERS,
    http=POST("/api/sessions/spawn"),
    summary="Start an agent on tasks, with tasks, members and directive in its prompt.",
    effect=Effect.WRITE,
    command=CommandSyntax("session spawn", hidden=("path",), rest_field="arguments"),
    examples=(
        'maestro session spawn --task "#4" --member dana --subject "Parser" --message "Keep the grammar."',
        'maestro session spawn --task "#4" --dry-run',
        "maestro session spawn --name tests -- make test",
    ),
    errors=(NotFound, NotPermitted, NotReady, Conflict, Invalid, NotStarted),
)
REPORT = Operation(
    "runner.report",
    RunnerReport,
    RunnerReportAnswer,
    callers=Callers.SESSIONS,
    http=POST("/api/runners/report"),
    summary="Report on an agent program; runners call this.",
    effect=Effect.WRITE,
    command=CommandSyntax("runner report", ("report",)),
    examples=('maestro runner report \'{"kind": "started"}\'',),
    errors=(Invalid, NotPermitted, Conflict),
)
PROMPT = Operation(
    "session.prompt",
    PromptSession,
    SentMail,
    callers=Callers.OWNERS,
    http=POST("/api/sessions/{id}/prompt"),
    summary="Send a text to a running agent now.",
    effect=Effect.WRITE,
    command=CommandSyntax("session prompt", ("id", "text")),
    examples=('maestro session prompt parser "Stop: the grammar changed."',),
    errors=(NotFound, NotPermitted, Conflict, NotConfirmed),
)
INTERRUPT = Operation(
    "session.interrupt",
    OneSession,
    Session,
    callers=Callers.OWNERS,
    http=POST("/api/sessions/{id}/interrupt"),
    summary="Interrupt an agent's turn, as Ctrl-C would.",
    effect=Effect.ACTION,
    command=CommandSyntax("session interrupt", ("id",)),
    examples=("maestro session interrupt parser",),
    errors=(NotFound, NotPermitted, Conflict),
)
STOP = Operation(
    "session.stop",
    StopSession,
    Session,
    callers=Callers.OWNERS,
    http=POST("/api/sessions/{id}/stop"),
    summary="Stop an agent and all processes that it started.",
    effect=Effect.ACTION,
    command=CommandSyntax("session stop", ("id",)),
    examples=("maestro session stop parser",),
    errors=(NotFound, NotPermitted, Conflict, TimedOut),
)
RESUME = Operation(
    "session.resume",
    OneSession,
    SpawnedSession,
    callers=Callers.OWNERS,
    http=POST("/api/sessions/{id}/resume"),
    summary="Start an ended session again; the agent continues its conversation.",
    effect=Effect.WRITE,
    command=CommandSyntax("session resume", ("id",)),
    examples=("maestro session resume parser",),
    errors=(NotFound, NotPermitted, Conflict),
)
MANIFEST = Operation(
    "manifest.show",
    OneSession,
    Manifest,
    callers=Callers.KNOWN,
    http=GET("/api/sessions/{id}/manifest"),
    summary="Show the manifest that a session was started with.",
    effect=Effect.READ,
    command=CommandSyntax("manifest show", ("id",)),
    examples=("maestro manifest show parser --json",),
    errors=(NotFound, NotPermitted),
)
PROMPTS = Operation(
    "prompt.show",
    ShowPrompt,
    SessionPrompts,
    callers=Callers.KNOWN,
    http=GET("/api/sessions/{id}/prompts"),
    summary="Print the prompts that a session was started with.",
    effect=Effect.ACTION,
    command=CommandSyntax("prompt show", ("id",)),
    examples=("maestro prompt show parser --task",),
    errors=(NotFound, NotPermitted),
)
TEMPLATES = Operation(
    "template.list",
    ListTemplates,
    TemplateList,
    callers=Callers.KNOWN,
    http=GET("/api/templates"),
    summary="List the workflows that sessions can follow.",
    effect=Effect.ACTION,
    command=CommandSyntax("template list", hidden=("path",)),
    examples=("maestro template list",),
)
TEMPLATE = Operation(
    "template.show",
    OneTemplate,
    TemplateDetail,
    callers=Callers.KNOWN,
    http=GET("/api/templates/{name}"),
    summary="Show a workflow, phase by phase.",
    effect=Effect.ACTION,
    command=CommandSyntax("template show", ("name",), hidden=("path",)),
    examples=("maestro template show coordinate-dag",),
    errors=(NotFound, Invalid),
)

ALL = (SPAWN, PROMPT, INTERRUPT, STOP, RESUME, MANIFEST, PROMPTS, TEMPLATES, TEMPLATE, REPORT)
