"""The parts of a tool: abilities, launch, and the way in which the model waits for mail."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import msgspec

from maestro.domain.conversations import DriverKind, StateReporter
from maestro.domain.manifests import AgentReach
from maestro.domain.members import Permission
from maestro.tools.levels import ToolLevels


class Abilities(msgspec.Struct, frozen=True, kw_only=True):
    """The abilities of a tool. Users see them, and services check them before they promise an effect."""

    prompt_while_busy: bool  # takes a prompt during a turn
    prompt_when_idle: bool  # a prompt starts a new turn of an idle program
    asks_permission: bool  # permission requests reach Maestro as asks
    reports_usage: bool
    resumes: bool  # can continue an earlier conversation
    loads_skills: bool  # loads skills from files; otherwise the prompt holds their texts
    # Reports when the model has read a prompt, not only when the program has received the prompt.
    confirms_prompts: bool
    exit_means_done: bool  # exit code 0 completes the session's tasks
    reach: AgentReach
    # The drivers, the default driver first; for each driver, its state reporter.
    drivers: Mapping[DriverKind, StateReporter]
    # The drivers with which no message reaches the model during a turn.
    unreachable_during_turn: tuple[DriverKind, ...] = ()


class LaunchRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The input for the launch of an agent program."""

    session_id: str
    system_prompt: str
    task_prompt: str
    directory: str
    driver: DriverKind = DriverKind.TERMINAL
    model: str | None = None
    permission: Permission = Permission.EDIT
    arguments: list[str] = []  # more arguments; for the tool `command`: the program and its arguments
    skills: list[str] = []  # folders
    resumes: str | None = None  # the tool's own id of the conversation to continue
    levels: ToolLevels = ToolLevels()  # the tool's levels, with the user's overrides
    folder: str = ""  # the session's own folder, for its private configuration
    mcp_command: list[str] = []  # the command of Maestro's MCP server
    hook_command: list[str] = []  # the command of hooks; the names of the tool and the event follow
    allow: list[str] = []  # patterns of actions that need no ask
    rest: str = "ask"  # the treatment of all other actions: ask or deny


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the runner needs to start the program."""

    arguments: list[str]
    environment: dict[str, str]
    terminal: bool = True
    input: str | None = None
    conversation: str | None = None  # the tool whose protocol runs over the pipes; None without a protocol
    opening: dict[str, Any] = {}  # the fields of `ConversationOpening`
    # A channel beside the keyboard: the `path` of a socket and the module that encodes messages (`spelt_by`), or the
    # `path` of a pipe with the `kind` "pipe".
    inbox: dict[str, str] = {}
    interrupt: str = ""  # the keys that interrupt a turn, if a signal would end the program
    socket_path: str = ""  # the path of a socket for the protocol, instead of pipes
    # A second program that joins the conversation in the session's terminal, for the person.
    terminal_client: list[str] = []
    wait_seconds: float = 0.0  # the delay before the start


class ModelWait(Protocol):
    """How a model waits for mail if its program takes input only from the keyboard: the model starts a command in the
    background, and the command ends when mail arrives."""

    def wait_command(self, folder: str) -> str:
        """Return the command that the model runs, for the session with this folder."""

    def instructions(self, folder: str) -> str:
        """Return the instructions about waiting, for the first prompt."""

    def reminder(self, folder: str) -> str:
        """Return the reminder for a model that stops without a running wait command."""

    def mail_announcement(self, count: int) -> str:
        """Return the output of the wait command when mail arrives. The hooks of the next turn show the mail."""
