"""The one interface to an agent program: how it is started, told things, and what it can do at all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import msgspec

from maestro.domain.manifests import Reach
from maestro.domain.members import Permission


class Abilities(msgspec.Struct, frozen=True, kw_only=True):
    """What a tool can do: shown to people, and asked before anything is promised."""

    prompt_while_busy: bool  # takes a prompt in the middle of its work
    wakes_when_idle: bool  # a prompt starts it again
    asks_permission: bool  # its permission requests reach us as such
    tells_usage: bool
    resumes: bool  # goes on with an earlier conversation
    confirms_prompts: bool  # we hear that a prompt was taken in, not only that it was handed over
    exit_means_done: bool  # that it ended well is its word for the tasks it holds
    reach: Reach


class Start(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent is to be started with."""

    session_id: str
    system_prompt: str
    task_prompt: str
    directory: str
    model: str | None = None
    permission: Permission = Permission.EDIT
    words: list[str] = []  # for `command`: the program itself
    skills: list[str] = []
    resumes: str | None = None  # what the tool itself calls its earlier conversation


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """How the runner starts it."""

    words: list[str]
    environment: dict[str, str]
    terminal: bool = True
    input: str | None = None


class Agent(Protocol):
    """One tool."""

    name: str
    aliases: tuple[str, ...]
    abilities: Abilities

    def launch(self, start: Start, environment: Mapping[str, str]) -> Launch:
        """The command line and environment. `environment` is already free of other agents' variables."""

    def prompt(self, text: str) -> bytes | None:
        """What to write to a running agent to tell it something; None if it takes nothing that way."""


# What other agents leave in the environment of those they start: none of it is meant for a new one.
INHERITED = ("CLAUDECODE", "CLAUDE_", "ANTHROPIC_", "CODEX_", "GEMINI_CLI", "MAESTRO_", "OPENCODE_", "AIDER_")
_MEANT = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "CLAUDE_CONFIG_DIR", "CODEX_HOME")


def cleared(environment: Mapping[str, str]) -> dict[str, str]:
    """An environment without what belongs to another agent's run; keys and places of configuration stay."""
    return {name: value for name, value in environment.items() if name in _MEANT or not name.startswith(INHERITED)}
