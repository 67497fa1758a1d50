"""The manifest of a session: all facts that the session gets at its start, as one typed value.

Both prompts are rendered from the manifest alone. Pure: the services fill a manifest from the store.
"""

from __future__ import annotations

import enum

import msgspec

from maestro.core import errors
from maestro.domain.members import Permission
from maestro.domain.messages import MessageType, SenderKind
from maestro.domain.priorities import Priority
from maestro.domain.sessions import SessionMode, SessionStatus
from maestro.domain.tasks import TaskStatus

MANIFEST_VERSION = 1


class AgentReach(enum.StrEnum):
    """How an agent can call Maestro.

    In some sandboxes the agent's shell reaches no socket, only its MCP servers do.
    """

    COMMANDS = "commands"
    MCP = "mcp"


class ManifestSession(msgspec.Struct, frozen=True, kw_only=True):
    """The session that the manifest is for."""

    id: str
    name: str
    mode: SessionMode
    strategy: str
    template: str
    address: str | None = None
    tool: str | None = None
    model: str | None = None


class ManifestProject(msgspec.Struct, frozen=True, kw_only=True):
    """The project and the directory of its checkout on the host."""

    id: str
    name: str
    key: str
    directory: str


class ManifestWorkspace(msgspec.Struct, frozen=True, kw_only=True):
    """The checkout that the session works in. With `worktree` no other session uses the checkout."""

    directory: str
    id: str | None = None
    address: str | None = None
    branch: str | None = None
    base: str | None = None  # the commit or branch from which the session's branch started
    worktree: bool = False


class ManifestMember(msgspec.Struct, frozen=True, kw_only=True):
    """A persona that the session takes on, or a member of the roster."""

    id: str
    name: str
    role: str
    identity: str = ""
    avatar: str = ""
    mail_id: str = ""
    skills: tuple[str, ...] = ()
    model: str | None = None
    agent_tool: str | None = None


class ManifestTaskLink(msgspec.Struct, frozen=True, kw_only=True):
    """A task as another task mentions it."""

    id: str
    ref: str
    title: str
    status: TaskStatus


class ManifestDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A document of a task. `text` is the beginning of a text document, if the caller wanted it."""

    id: str
    title: str
    file_name: str = ""
    bytes: int = 0
    text: str = ""


class ManifestTask(msgspec.Struct, frozen=True, kw_only=True):
    """A task with the facts that the session needs."""

    id: str
    ref: str  # vc#12
    title: str
    status: TaskStatus
    priority: Priority = Priority.NORMAL
    opened_by: str | None = None  # of an issue: the agent or person of the other project that opened it
    description: str = ""
    ready: bool = False
    stage: str | None = None
    waits_for_stage: str | None = None
    parent: str | None = None  # the parent's ref
    member: str | None = None  # the member that the task is meant for
    holder: str | None = None
    acceptance: tuple[str, ...] = ()
    gates: tuple[str, ...] = ()
    depends_on: tuple[ManifestTaskLink, ...] = ()
    blockers: tuple[ManifestTaskLink, ...] = ()
    children: tuple[ManifestTaskLink, ...] = ()
    documents: tuple[ManifestDocument, ...] = ()


class ManifestCoordinator(msgspec.Struct, frozen=True, kw_only=True):
    """The coordinator of the session, which gets the session's reports."""

    session_id: str
    name: str
    member_id: str | None = None
    member_name: str | None = None
    address: str | None = None


class ManifestDirective(msgspec.Struct, frozen=True, kw_only=True):
    """The text with which the coordinator or person started the session."""

    subject: str
    text: str
    sender: str
    sender_kind: SenderKind
    message_id: str | None = None  # the mail with the whole text


class UnreadMessage(msgspec.Struct, frozen=True, kw_only=True):
    """An unread message that came while the session did not run."""

    message_id: str
    sender: str
    type: MessageType
    priority: Priority
    subject: str
    text: str = ""


class LastStart(msgspec.Struct, frozen=True, kw_only=True):
    """How the session's last start ended, and the mail that came since."""

    status: SessionStatus
    ended_at: str
    last_output: str = ""
    unread: int = 0
    messages: tuple[UnreadMessage, ...] = ()


class SiblingSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session of the same coordinator."""

    session_id: str
    name: str
    mode: SessionMode
    status: SessionStatus | None = None
    member: str | None = None
    tasks: tuple[ManifestTaskLink, ...] = ()


class ManifestSkill(msgspec.Struct, frozen=True, kw_only=True):
    """A skill of the session, and the file that describes it."""

    name: str
    summary: str = ""
    path: str | None = None
    text: str = ""  # the whole description, for a program that cannot get the file


class ManifestLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How many sessions, and how deep, the session may start. None means no limit."""

    workers_max: int | None = None  # at once
    depth_left: int | None = None  # levels of sessions below this session


class ManifestCommand(msgspec.Struct, frozen=True, kw_only=True):
    """An operation that the session may call."""

    operation: str  # mail.wait
    command: str  # mail wait
    summary: str


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """The facts that a session gets at the start."""

    version: int = MANIFEST_VERSION
    session: ManifestSession
    project: ManifestProject
    human: str  # the person's name
    permission: Permission
    grant: Permission | None = None  # the highest level that the session may give to other sessions; None: not known
    reach: AgentReach = AgentReach.COMMANDS
    workspace: ManifestWorkspace | None = None
    members: tuple[ManifestMember, ...] = ()  # the members whose persona the session takes on
    team: str | None = None
    roster: tuple[ManifestMember, ...] = ()
    tasks: tuple[ManifestTask, ...] = ()
    reference_tasks: tuple[ManifestTask, ...] = ()
    coordinator: ManifestCoordinator | None = None
    directive: ManifestDirective | None = None
    siblings: tuple[SiblingSession, ...] = ()
    skills: tuple[ManifestSkill, ...] = ()
    limits: ManifestLimits = ManifestLimits()
    commands: tuple[ManifestCommand, ...] = ()
    resumed: LastStart | None = None


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Manifest)


class _Versioned(msgspec.Struct, frozen=True):
    version: int = MANIFEST_VERSION


_version_decoder = msgspec.json.Decoder(_Versioned)


def encode_manifest(manifest: Manifest) -> bytes:
    """Return a manifest as the bytes that the store keeps."""
    return _encoder.encode(manifest)


def decode_manifest(data: bytes) -> Manifest:
    """Return a kept manifest. Refuse another version before its fields are read."""
    try:
        version = _version_decoder.decode(data).version
        if version == MANIFEST_VERSION:
            return _decoder.decode(data)
    except msgspec.DecodeError as error:
        raise errors.Invalid(f"The data is not a manifest: {error}.") from None
    raise errors.Invalid(
        f"The manifest has version {version}; this Maestro reads version {MANIFEST_VERSION}.",
        data={"version": version},
    )
