"""The commands that are no operation: those the surface answers itself, and those its client carries out.

They are declared in the same shape as operations, so that grammar, help and completion need not tell them apart.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Annotated

import msgspec
from msgspec import Meta

from maestro.domain.asks import Ask
from maestro.domain.callers import Callers
from maestro.domain.sessions import Mode, Session
from maestro.domain.tasks import Task
from maestro.operations.base import Request
from maestro.operations.fields import Path
from maestro.operations.projects import ProjectDetail
from maestro.operations.runs import RunInList


class Shell(enum.StrEnum):
    """A shell that completes commands."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


class ConnectTool(enum.StrEnum):
    """An agent program that can be connected."""

    CLAUDE = "claude"
    CODEX = "codex"
    GEMINI = "gemini"


class ConnectScope(enum.StrEnum):
    """Whose settings are changed."""

    USER = "user"
    PROJECT = "project"


class Nothing(Request, frozen=True, kw_only=True):
    """Nothing to say."""


class Help(Request, frozen=True, kw_only=True):
    command: Annotated[list[str], Meta(max_length=20, description="A command, or its first words.")] = []


class Commands(Request, frozen=True, kw_only=True):
    check: (
        Annotated[
            str,
            Meta(
                max_length=200,
                description='Only "COMMAND": ends with 0 if you may call it, 4 if you may not, 6 if there is none.',
                extra={"label": "COMMAND"},
            ),
        ]
        | None
    ) = None


class Completion(Request, frozen=True, kw_only=True):
    shell: Annotated[Shell, Meta(description="The shell.")]


class Complete(Request, frozen=True, kw_only=True):
    words: Annotated[
        list[str],
        Meta(max_length=500, description="The words so far, the last one unfinished.", extra={"repeat": True}),
    ] = []


class Up(Request, frozen=True, kw_only=True):
    port: (
        Annotated[int, Meta(ge=1, le=65535, description="A port of the loopback interface.", extra={"label": "N"})]
        | None
    ) = None
    foreground: Annotated[bool, Meta(description="Stay in the foreground, log to the terminal.")] = False


class Mcp(Request, frozen=True, kw_only=True):
    mode: Annotated[Mode, Meta(description="What an agent that was started by hand is for.")] = Mode.EXECUTE
    name: (
        Annotated[str, Meta(max_length=64, description="What such an agent is called.", extra={"label": "NAME"})]
        | None
    ) = None


class Hook(Request, frozen=True, kw_only=True):
    tool: Annotated[str, Meta(max_length=64, description="The agent program.", extra={"label": "TOOL"})]
    event: Annotated[str, Meta(max_length=64, description="What it calls the moment.", extra={"label": "EVENT"})]


class Connect(Request, frozen=True, kw_only=True):
    tool: Annotated[ConnectTool, Meta(description="The agent program.")]
    scope: Annotated[ConnectScope, Meta(description="Your own settings, or the project's.")] = ConnectScope.USER
    dry_run: Annotated[bool, Meta(description="Only show what would change.")] = False
    trust: Annotated[bool, Meta(description="codex: mark the hooks as reviewed, in your name.")] = False


class Disconnect(Request, frozen=True, kw_only=True):
    tool: Annotated[ConnectTool, Meta(description="The agent program.")]
    scope: Annotated[ConnectScope, Meta(description="Only your own settings, or only the project's.")] | None = None
    dry_run: Annotated[bool, Meta(description="Only show what would change.")] = False


class Doctor(Request, frozen=True, kw_only=True):
    fix: Annotated[bool, Meta(description="Mend what can be mended.")] = False
    compact: Annotated[bool, Meta(description="Copy the database into a smaller file, while no server runs.")] = False


class Restore(Request, frozen=True, kw_only=True):
    file: Path
    allow_missing: Annotated[
        bool, Meta(description="Restore although files of the backup are missing or damaged.")
    ] = False


class CommandInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A command, as `commands` and `help` tell it in JSON."""

    command: str
    usage: str
    summary: str
    aliases: list[str]
    operation: str | None
    callers: list[str]


class CommandList(msgspec.Struct, frozen=True, kw_only=True):
    commands: list[CommandInfo]


class Board(msgspec.Struct, frozen=True, kw_only=True):
    """What needs the caller, and how a project stands."""

    project: ProjectDetail | None
    asks: list[Ask] = []
    unread: int = 0
    runs: list[RunInList] = []  # those that go on
    troubled: list[Session] = []  # sessions that are lost, failed, or wait for someone
    in_progress: list[Task]
    ready: list[Task]
    next: list[str]


@dataclass(frozen=True)
class Own:
    """A command that is no operation."""

    words: str
    request: type[msgspec.Struct]
    summary: str
    callers: Callers = Callers.ANYONE
    positional: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    hidden: bool = False
    local: bool = False  # the client carries it out


BOARD = Own("", Nothing, "Show how the project stands, and what to do next.", examples=("maestro",))
HELP = Own(
    "help",
    Help,
    "Show what there is, or how one command is written.",
    positional=("command",),
    examples=("maestro help", "maestro help task create"),
)
COMMANDS = Own(
    "commands",
    Commands,
    "List the commands that you may call.",
    examples=("maestro commands", 'maestro commands --check "task start"'),
)
COMPLETION = Own(
    "completion",
    Completion,
    "Print a script that lets a shell complete commands.",
    positional=("shell",),
    examples=('eval "$(maestro completion bash)"', "maestro completion fish | source"),
)
COMPLETE = Own("__complete", Complete, "Offer what can come next.", positional=("words",), hidden=True)

UP = Own(
    "up",
    Up,
    "Start the server, or say that it runs.",
    callers=Callers.PERSON,
    examples=("maestro up", "maestro up --foreground"),
    local=True,
)
RESTORE = Own(
    "restore",
    Restore,
    "Bring back the data from a backup, while no server runs.",
    callers=Callers.PERSON,
    positional=("file",),
    examples=("maestro restore maestro.tar",),
    local=True,
)
MCP = Own(
    "mcp",
    Mcp,
    "Be the MCP server of the agent that starts this, on standard input and output.",
    callers=Callers.KNOWN,
    examples=("maestro mcp", "claude mcp add maestro -- maestro mcp"),
    local=True,
)
HOOK = Own(
    "hook",
    Hook,
    "Answer a hook of the agent that runs this: its payload on standard input. Agents call it, not people.",
    callers=Callers.KNOWN,
    positional=("tool", "event"),
    examples=("maestro hook claude PostToolUse",),
)
CONNECT = Own(
    "connect",
    Connect,
    "Add Maestro's hooks and MCP server to an agent program's settings, for agents that you start yourself.",
    callers=Callers.PERSON,
    positional=("tool",),
    examples=("maestro connect claude --dry-run", "maestro connect claude", "maestro connect gemini --scope project"),
    local=True,
)
DISCONNECT = Own(
    "disconnect",
    Disconnect,
    "Take Maestro out of an agent program's settings again.",
    callers=Callers.PERSON,
    positional=("tool",),
    examples=("maestro disconnect claude",),
    local=True,
)
DOCTOR = Own(
    "doctor",
    Doctor,
    "Say which agent programs there are, how they are connected, and what is wrong.",
    callers=Callers.PERSON,
    examples=("maestro doctor", "maestro doctor --fix", "maestro doctor --json"),
    local=True,
)
DEMO = Own("demo", Nothing, "See Maestro at work.", callers=Callers.PERSON, examples=("maestro demo",), local=True)
VERSION = Own("version", Nothing, "Print the version (also --version).", examples=("maestro version",), local=True)

ALL = (
    BOARD,
    HELP,
    COMMANDS,
    COMPLETION,
    COMPLETE,
    UP,
    RESTORE,
    MCP,
    HOOK,
    CONNECT,
    DISCONNECT,
    DOCTOR,
    DEMO,
    VERSION,
)

# What the client's side of `mcp` calls itself: no command that anyone types.
PIPE = "__mcp"
# What the client runs itself when it is the first argument.
LOCAL_WORDS = frozenset({*(own.words for own in ALL if own.local), "--version"})
