"""The types with which a tool describes how `maestro connect` adds Maestro to the settings of its program."""

from __future__ import annotations

import enum
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from maestro.tools.hook_dialect import HookDialect
from maestro.tools.hook_settings import HookGroups, hooks_beside_dialog

SERVER = "maestro"  # the name of the MCP server in the settings


class SettingsScope(enum.StrEnum):
    """The settings to change: the user's or the project's."""

    USER = "user"
    PROJECT = "project"


class SettingsFormat(enum.Enum):
    """The format of a settings file."""

    JSON = "json"
    TOML = "toml"


@dataclass(frozen=True)
class SettingsTarget:
    """One settings file, and the entries that Maestro wants in the file."""

    path: Path
    format: SettingsFormat
    hooks: Mapping[str, list[dict[str, Any]]] = field(default_factory=dict)
    mcp: Mapping[str, Any] | None = None
    mcp_keys: tuple[str, ...] = ()


@dataclass(frozen=True)
class MaestroCommand:
    """The command with which the tools call Maestro."""

    program: str
    home: str = ""  # the data directory, if it is not the usual one

    def hook_command(self, tool: str, event: str) -> str:
        command = shlex.join([self.program, "hook", tool, event])
        return f"MAESTRO_HOME={shlex.quote(self.home)} {command}" if self.home else command

    def hook_groups(self, dialect: HookDialect) -> HookGroups:
        """Return the hooks section of a tool's settings."""
        return hooks_beside_dialog(dialect, lambda event: self.hook_command(dialect.tool, event))

    def mcp_entry(self) -> dict[str, Any]:
        entry: dict[str, Any] = {"command": self.program, "args": ["mcp"]}
        return {**entry, "env": {"MAESTRO_HOME": self.home}} if self.home else entry


def home_folder(environment: Mapping[str, str]) -> Path:
    """Return the person's home folder."""
    return Path(environment.get("HOME") or "~").expanduser()


@dataclass(frozen=True)
class ListedHook:
    """One of Maestro's hooks, as the program lists it."""

    key: str
    event: str
    digest: str
    is_trusted: bool


@dataclass(frozen=True, kw_only=True)
class HookReview:
    """How to ask a program which hooks the person has reviewed, if the program skips all other hooks.

    The client runs the program with `arguments`, writes `requests` as lines of JSON, and waits for the answer with
    the id `answer_id`."""

    arguments: tuple[str, ...]
    requests: Callable[[Path], list[dict[str, Any]]]  # takes the directory whose hooks are listed
    answer_id: int
    # Takes the result and a test for Maestro's commands; returns None if the result cannot be read.
    read_result: Callable[[Any, Callable[[Any], bool]], list[ListedHook] | None]
    # Takes a hook; returns the keys and the content of the TOML table that marks the hook as reviewed.
    reviewed_table: Callable[[ListedHook], tuple[tuple[str, ...], dict[str, str]]]
    skip_note: str  # what the program does with other hooks, for the person


@dataclass(frozen=True, kw_only=True)
class ConnectSupport:
    """The facts about a tool that `maestro connect` and `maestro doctor` need."""

    # Takes the scope, Maestro's command, the project's directory and the person's environment.
    settings_targets: Callable[[SettingsScope, MaestroCommand, Path, Mapping[str, str]], list[SettingsTarget]]
    package: str  # the name of the program's npm package, to find its version without a start of the program
    tested_version: str
    hook_summary: str  # the abilities of hooks and MCP tools in the tested version, for the person
    hook_review: HookReview | None = None
