"""The one interface to an agent program: how it is started, told things, and what it can do at all."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import msgspec

from maestro.domain.manifests import Reach
from maestro.domain.members import Permission
from maestro.domain.talks import Driver, Teller


class Abilities(msgspec.Struct, frozen=True, kw_only=True):
    """What a tool can do: shown to people, and asked before anything is promised."""

    prompt_while_busy: bool  # takes a prompt in the middle of its work
    wakes_when_idle: bool  # a prompt starts it again
    asks_permission: bool  # its permission requests reach us as such
    tells_usage: bool
    resumes: bool  # goes on with an earlier conversation
    takes_skills: bool  # as files; else their texts stand in the prompt
    confirms_prompts: bool  # we hear that a prompt was taken in, not only that it was handed over
    exit_means_done: bool  # that it ended well is its word for the tasks it holds
    reach: Reach
    drivers: Mapping[Driver, Teller]  # the usual one first, and who tells how things stand
    deaf_at_work: tuple[Driver, ...] = ()  # where nothing reaches it before its turn is over


class Start(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent is to be started with."""

    session_id: str
    system_prompt: str
    task_prompt: str
    directory: str
    driver: Driver = Driver.TERMINAL
    model: str | None = None
    permission: Permission = Permission.EDIT
    words: list[str] = []  # for `command`: the program itself
    skills: list[str] = []  # folders
    resumes: str | None = None  # what the tool itself calls its earlier conversation
    home: Path | None = None  # Maestro's data directory, with what the user says of tools
    folder: str = ""  # the session's own: configuration that belongs to it alone
    mcp: list[str] = []  # the command of Maestro's MCP server
    hook: list[str] = []  # the command that its hooks run, before the names of the tool and the event
    allow: list[str] = []  # permissions that nobody is asked for
    rest: str = "ask"  # what becomes of all others: ask or deny


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """How the runner starts it."""

    words: list[str]
    environment: dict[str, str]
    terminal: bool = True
    input: str | None = None
    conversation: str | None = None  # whose protocol is spoken over its pipes; none: it has a terminal, or nothing
    opening: dict[str, Any] = {}  # what that begins with
    # Beside the keyboard: `path` of a socket, and what it is `spelt_by`; or of a pipe, of the `kind` "pipe".
    inbox: dict[str, str] = {}
    interrupt: str = ""  # the keys that stop what it does, where a signal would end it
    listens: str = ""  # the path of a socket on which that is spoken instead
    front: list[str] = []  # a program that joins the conversation in the session's terminal, as a person has it
    wait_seconds: float = 0.0  # before it is started


class Waiter(Protocol):
    """How a model waits for Maestro, where its program listens to nobody but the keyboard: with a command that it
    starts itself, and that ends when there is something to say."""

    def command(self, folder: str) -> str:
        """What it is to run, for a session that has this folder."""

    def owed(self, folder: str) -> str:
        """What it is told if it stops without."""

    def knock(self, messages: int) -> str:
        """What the command says when mail has come. The mail itself comes by the hooks of the turn that follows."""


class Agent(Protocol):
    """One tool."""

    name: str
    aliases: tuple[str, ...]
    abilities: Abilities

    @property
    def waiter(self) -> Waiter | None:
        """In a terminal, if it is the model that has to wait."""

    def launch(self, start: Start, environment: Mapping[str, str]) -> Launch:
        """The command line and environment. `environment` is already free of other agents' variables."""

    def prompt(self, text: str) -> bytes | None:
        """What to type into its terminal to tell it something; None if it takes nothing that way."""

    def reach(self, permission: Permission) -> Reach:
        """How it can call Maestro: a narrower sandbox may leave it only its MCP servers."""


# What other agents leave in the environment of those they start: none of it is meant for a new one.
INHERITED = ("CLAUDECODE", "CLAUDE_", "ANTHROPIC_", "CODEX_", "GEMINI_CLI", "MAESTRO_", "OPENCODE_", "AIDER_")
_MEANT = frozenset(
    {"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"}
    | {"CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME"}
)


def cleared(environment: Mapping[str, str]) -> dict[str, str]:
    """An environment without what belongs to another agent's run; keys and places of configuration stay."""
    return {name: value for name, value in environment.items() if name in _MEANT or not name.startswith(INHERITED)}
