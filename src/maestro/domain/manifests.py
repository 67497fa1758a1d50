"""All that a session is told when it starts, as one typed value. Both prompts are rendered from it and nothing else.

Pure: whoever makes a manifest has read the store; nothing here knows that there is one.
"""

from __future__ import annotations

import enum

import msgspec

from maestro.core import errors
from maestro.domain.members import Permission
from maestro.domain.messages import SenderKind, Type
from maestro.domain.sessions import Mode
from maestro.domain.sessions import Status as SessionStatus
from maestro.domain.tasks import Priority, Status

VERSION = 1


class Reach(enum.StrEnum):
    """How an agent can call Maestro: some sandboxes let its shell reach no socket, only its MCP servers."""

    COMMANDS = "commands"
    MCP = "mcp"


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """The session that is told all this."""

    id: str
    name: str
    mode: Mode
    strategy: str
    template: str
    address: str | None = None
    tool: str | None = None
    model: str | None = None


class Project(msgspec.Struct, frozen=True, kw_only=True):
    """The codebase, and where it lies on this host."""

    id: str
    name: str
    key: str
    directory: str


class Workspace(msgspec.Struct, frozen=True, kw_only=True):
    """The checkout that the session works in; with `worktree` it has it to itself."""

    directory: str
    id: str | None = None
    address: str | None = None
    branch: str | None = None
    base: str | None = None  # the commit or branch that its own started from
    worktree: bool = False


class TeamMember(msgspec.Struct, frozen=True, kw_only=True):
    """A persona: one that the session takes on, or one of the roster."""

    id: str
    name: str
    role: str
    identity: str = ""
    avatar: str = ""
    mail_id: str = ""
    skills: tuple[str, ...] = ()
    model: str | None = None
    agent_tool: str | None = None


class TaskLink(msgspec.Struct, frozen=True, kw_only=True):
    """A task as another mentions it."""

    id: str
    ref: str
    title: str
    status: Status


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """A task's document; `text` is its beginning where that was asked for and it is text."""

    id: str
    title: str
    file_name: str = ""
    bytes: int = 0
    text: str = ""


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """A task as the session needs to know it."""

    id: str
    ref: str  # vc#12
    title: str
    status: Status
    priority: Priority = Priority.NORMAL
    opened_by: str | None = None  # an issue: who of which other project wrote it
    description: str = ""
    ready: bool = False
    stage: str | None = None
    waits_for_stage: str | None = None
    parent: str | None = None  # its ref
    member: str | None = None  # whom it is meant for
    holder: str | None = None
    acceptance: tuple[str, ...] = ()
    gates: tuple[str, ...] = ()
    depends_on: tuple[TaskLink, ...] = ()
    blockers: tuple[TaskLink, ...] = ()
    children: tuple[TaskLink, ...] = ()
    documents: tuple[Document, ...] = ()


class Coordinator(msgspec.Struct, frozen=True, kw_only=True):
    """Who started the session and hears its reports."""

    session_id: str
    name: str
    member_id: str | None = None
    member_name: str | None = None
    address: str | None = None


class Directive(msgspec.Struct, frozen=True, kw_only=True):
    """What the session was started with, in the words of whoever started it."""

    subject: str
    text: str
    sender: str
    sender_kind: SenderKind
    message_id: str | None = None  # the same as mail: there all of it can be read


class Letter(msgspec.Struct, frozen=True, kw_only=True):
    """A message that came while the session was away: it is still unread."""

    message_id: str
    sender: str
    type: Type
    priority: Priority
    subject: str
    text: str = ""


class Resumed(msgspec.Struct, frozen=True, kw_only=True):
    """The session was started before. How that ended, and what was said since."""

    status: SessionStatus
    ended_at: str
    last_words: str = ""
    unread: int = 0
    messages: tuple[Letter, ...] = ()


class Sibling(msgspec.Struct, frozen=True, kw_only=True):
    """A session of the same coordinator."""

    session_id: str
    name: str
    mode: Mode
    status: SessionStatus | None = None
    member: str | None = None
    tasks: tuple[TaskLink, ...] = ()


class Skill(msgspec.Struct, frozen=True, kw_only=True):
    """Something the session can do, and where that is described."""

    name: str
    summary: str = ""
    path: str | None = None
    text: str = ""  # all that is described, where the program cannot be given the file


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How far a session may go in starting others; None where nothing bounds it."""

    workers_max: int | None = None  # at once
    depth_left: int | None = None  # levels of sessions below it


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """An operation that the session may call."""

    operation: str  # mail.wait
    words: str  # mail wait
    summary: str


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a session is told when it starts."""

    version: int = VERSION
    session: Session
    project: Project
    human: str  # the person behind it all, by name
    permission: Permission
    grant: Permission | None = None  # the highest level it may give to sessions it starts; none: not known
    reach: Reach = Reach.COMMANDS
    workspace: Workspace | None = None
    members: tuple[TeamMember, ...] = ()  # whom the session takes on
    team: str | None = None
    roster: tuple[TeamMember, ...] = ()
    tasks: tuple[Task, ...] = ()
    reference_tasks: tuple[Task, ...] = ()
    coordinator: Coordinator | None = None
    directive: Directive | None = None
    siblings: tuple[Sibling, ...] = ()
    skills: tuple[Skill, ...] = ()
    limits: Limits = Limits()
    commands: tuple[Command, ...] = ()
    resumed: Resumed | None = None


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Manifest)


class _Versioned(msgspec.Struct, frozen=True):
    version: int = VERSION


_versioned = msgspec.json.Decoder(_Versioned)


def encode(manifest: Manifest) -> bytes:
    """A manifest as it is kept."""
    return _encoder.encode(manifest)


def decode(data: bytes) -> Manifest:
    """A manifest that was kept; one of a version that is not ours is refused before its fields are looked at."""
    try:
        version = _versioned.decode(data).version
        if version == VERSION:
            return _decoder.decode(data)
    except msgspec.DecodeError as error:
        raise errors.Invalid(f"This is no manifest: {error}.") from None
    raise errors.Invalid(
        f"This manifest has version {version}; this Maestro reads version {VERSION}.", data={"version": version}
    )
