"""Declare the commands without an operation: built-in commands, and local commands that the client runs itself.

Their declarations have the shape of operations, so that grammar, help and completion treat all commands alike.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Annotated

import msgspec
from msgspec import Meta

from maestro.domain.asks import Ask
from maestro.domain.callers import Callers
from maestro.domain.sessions import Session, SessionMode
from maestro.domain.tasks import Task
from maestro.operations.base import Request
from maestro.operations.fields import Path
from maestro.operations.projects import ProjectDetail
from maestro.operations.runs import RunInList
from maestro.operations.server import EmptyRequest
from maestro.operations.sessions import ListedSession
from maestro.tools import registry

# The tools whose programs run only hooks that the person has reviewed.
_REVIEWING_TOOLS = ", ".join(name for name, tool in registry.CONNECTABLE.items() if tool.hook_review)


class Shell(enum.StrEnum):
    """A shell that completes commands."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


class ConnectTool(enum.StrEnum):
    """A tool that can be connected."""

    vars().update((name.upper(), name) for name in registry.CONNECTABLE)


class ConnectScope(enum.StrEnum):
    """The settings to change: the user's or the project's."""

    USER = "user"
    PROJECT = "project"


class Help(Request, frozen=True, kw_only=True):
    command: Annotated[list[str], Meta(max_length=20, description="A command, or its first words.")] = []


class Commands(Request, frozen=True, kw_only=True):
    check: (
        Annotated[
            str,
            Meta(
                max_length=200,
                description='Check "COMMAND": exit code 0 if you may call it, 4 if not, 6 if it does not exist.',
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
        Meta(max_length=500, description="The words so far; the last word is unfinished.", extra={"repeat": True}),
    ] = []


class Up(Request, frozen=True, kw_only=True):
    port: (
        Annotated[int, Meta(ge=1, le=65535, description="A port of the loopback interface.", extra={"label": "N"})]
        | None
    ) = None
    foreground: Annotated[bool, Meta(description="Stay in the foreground and log to the terminal.")] = False


class Mcp(Request, frozen=True, kw_only=True):
    mode: Annotated[SessionMode, Meta(description="The mode of an agent that was started by hand.")] = (
        SessionMode.EXECUTE
    )
    name: (
        Annotated[
            str,
            Meta(
                max_length=64, description="The name of an agent that was started by hand.", extra={"label": "NAME"}
            ),
        ]
        | None
    ) = None


class Hook(Request, frozen=True, kw_only=True):
    tool: Annotated[str, Meta(max_length=64, description="The tool that calls the hook.", extra={"label": "TOOL"})]
    event: Annotated[
        str, Meta(max_length=64, description="The tool's name of the hook event.", extra={"label": "EVENT"})
    ]


class Connect(Request, frozen=True, kw_only=True):
    tool: Annotated[ConnectTool, Meta(description="The tool.")]
    scope: Annotated[ConnectScope, Meta(description="Your own settings, or the project's.")] = ConnectScope.USER
    dry_run: Annotated[bool, Meta(description="Only show the changes.")] = False
    trust: Annotated[bool, Meta(description=f"{_REVIEWING_TOOLS}: mark the hooks as reviewed, in your name.")] = False


class Disconnect(Request, frozen=True, kw_only=True):
    tool: Annotated[ConnectTool, Meta(description="The tool.")]
    scope: Annotated[ConnectScope, Meta(description="Only your own settings, or only the project's.")] | None = None
    dry_run: Annotated[bool, Meta(description="Only show the changes.")] = False


class Doctor(Request, frozen=True, kw_only=True):
    fix: Annotated[bool, Meta(description="Repair the problems that can be repaired.")] = False
    compact: Annotated[bool, Meta(description="Copy the database into a smaller file, while no server runs.")] = False


class Restore(Request, frozen=True, kw_only=True):
    file: Path
    allow_missing: Annotated[
        bool, Meta(description="Restore although files of the backup are missing or damaged.")
    ] = False


class CommandInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A command, as `commands` and `help` describe it in JSON."""

    command: str
    usage: str
    summary: str
    aliases: list[str]
    operation: str | None
    callers: list[str]


class CommandList(msgspec.Struct, frozen=True, kw_only=True):
    commands: list[CommandInfo]


class Board(msgspec.Struct, frozen=True, kw_only=True):
    """The caller's asks and mail, and the state of a project."""

    project: ProjectDetail | None
    asks: list[Ask] = []
    unread: int = 0
    runs: list[RunInList] = []  # runs that have not ended
    sessions: list[ListedSession] = []  # live sessions: for the person of all projects, else of the project
    hidden_sessions: bool = False  # there are more live sessions than the board shows
    troubled: list[Session] = []  # sessions that were lost or have failed
    in_progress: list[Task]
    ready: list[Task]
    next: list[str]


@dataclass(frozen=True)
class BuiltinCommand:
    """A command without an operation."""

    words: str
    request: type[msgspec.Struct]
    summary: str
    callers: Callers = Callers.ANYONE
    positional: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    hidden: bool = False
    local: bool = False  # the client runs the command itself


BOARD = BuiltinCommand("", EmptyRequest, "Show the state of the project and the next steps.", examples=("maestro",))
HELP = BuiltinCommand(
    "help",
    Help,
    "List all commands, or explain one command.",
    positional=("command",),
    examples=("maestro help", "maestro help task create"),
)
COMMANDS = BuiltinCommand(
    "commands",
    Commands,
    "List the commands that you may call.",
    examples=("maestro commands", 'maestro commands --check "task start"'),
)
COMPLETION = BuiltinCommand(
    "completion",
    Completion,
    "Print a script that lets a shell complete commands.",
    positional=("shell",),
    examples=('eval "$(maestro completion bash)"', "maestro completion fish | source"),
)
COMPLETE = BuiltinCommand("__complete", Complete, "List the possible next words.", positional=("words",), hidden=True)

UP = BuiltinCommand(
    "up",
    Up,
    "Start the server, or report that it already runs.",
    callers=Callers.PERSON,
    examples=("maestro up", "maestro up --foreground"),
    local=True,
)
RESTORE = BuiltinCommand(
    "restore",
    Restore,
    "Restore the data from a backup, while no server runs.",
    callers=Callers.PERSON,
    positional=("file",),
    examples=("maestro restore maestro.tar",),
    local=True,
)
MCP = BuiltinCommand(
    "mcp",
    Mcp,
    "Serve MCP on standard input and output to the agent that starts this command.",
    callers=Callers.KNOWN,
    examples=("maestro mcp", "claude mcp add maestro -- maestro mcp"),
    local=True,
)
HOOK = BuiltinCommand(
    "hook",
    Hook,
    "Answer a hook of an agent; the hook's payload comes on standard input. Agents call this command, not people.",
    callers=Callers.KNOWN,
    positional=("tool", "event"),
    examples=("maestro hook claude PostToolUse",),
)
CONNECT = BuiltinCommand(
    "connect",
    Connect,
    "Add Maestro's hooks and MCP server to a tool's settings, for agents that you start yourself.",
    callers=Callers.PERSON,
    positional=("tool",),
    examples=("maestro connect claude --dry-run", "maestro connect claude", "maestro connect gemini --scope project"),
    local=True,
)
DISCONNECT = BuiltinCommand(
    "disconnect",
    Disconnect,
    "Remove Maestro from a tool's settings.",
    callers=Callers.PERSON,
    positional=("tool",),
    examples=("maestro disconnect claude",),
    local=True,
)
DOCTOR = BuiltinCommand(
    "doctor",
    Doctor,
    "Report the installed tools, their connections, and problems.",
    callers=Callers.PERSON,
    examples=("maestro doctor", "maestro doctor --fix", "maestro doctor --json"),
    local=True,
)
DEMO = BuiltinCommand(
    "demo",
    EmptyRequest,
    "Run a demonstration of Maestro.",
    callers=Callers.PERSON,
    examples=("maestro demo",),
    local=True,
)
VERSION = BuiltinCommand(
    "version", EmptyRequest, "Print the version (also --version).", examples=("maestro version",), local=True
)

BUILTIN_COMMANDS = (
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

# The internal command of the client's side of `mcp`; people do not type it.
MCP_PIPE = "__mcp"
# First arguments that the client handles itself.
LOCAL_COMMANDS = frozenset({*(command.words for command in BUILTIN_COMMANDS if command.local), "--version"})
