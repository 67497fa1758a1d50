"""Maestro's entries in the settings of each tool: their content, their files, and how to recognise them again."""

from __future__ import annotations

import enum
import os
import re
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from maestro.tools.hook_settings import HookGroups, hooks_by_command

SERVER = "maestro"  # the name of the MCP server in the settings
_OURS = re.compile(r"(?:^|[/\s'\"])maestro(?:-py)?['\"]? hook (?:claude|codex|gemini) \w+$")


class SettingsScope(enum.StrEnum):
    USER = "user"
    PROJECT = "project"


class SettingsFormat(enum.Enum):
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

    def mcp_entry(self) -> dict[str, Any]:
        entry: dict[str, Any] = {"command": self.program, "args": ["mcp"]}
        return {**entry, "env": {"MAESTRO_HOME": self.home}} if self.home else entry


def maestro_command() -> MaestroCommand:
    """Return the `maestro` command beside this interpreter, by its full path: a tool may have another PATH."""
    beside = Path(sys.executable).parent / "maestro"
    program = str(beside) if os.access(beside, os.X_OK) else "maestro"
    home = os.environ.get("MAESTRO_HOME", "")
    return MaestroCommand(program, str(Path(home).absolute()) if home else "")


def is_maestro_hook(command: Any) -> bool:
    """Return whether a hook's command calls Maestro, of any installation."""
    return isinstance(command, str) and _OURS.search(command) is not None


def is_stale_mcp_entry(mcp: Any) -> bool:
    """Return whether an MCP entry calls a removed installation of Maestro: such an entry is of no use."""
    if not isinstance(mcp, dict) or mcp.get("args") != ["mcp"] or not isinstance(mcp.get("command"), str):
        return False
    program = Path(mcp["command"])
    return program.name in ("maestro", "maestro-py") and program.is_absolute() and not program.exists()


def settings_targets(
    tool: str, scope: SettingsScope, command: MaestroCommand, *, directory: Path
) -> list[SettingsTarget]:
    """Return the settings files of one tool, with Maestro's entries."""
    return _TARGETS[tool](scope, command, directory)


def _hook_groups(tool: str, caller: MaestroCommand) -> HookGroups:
    return hooks_by_command(tool, lambda event: caller.hook_command(tool, event))


def _claude_targets(scope: SettingsScope, caller: MaestroCommand, directory: Path) -> list[SettingsTarget]:
    entry = {"type": "stdio", **caller.mcp_entry(), "alwaysLoad": True}
    own = os.environ.get("CLAUDE_CONFIG_DIR")
    if scope is SettingsScope.PROJECT:
        settings, servers = directory / ".claude" / "settings.json", directory / ".mcp.json"
    else:
        settings = (Path(own) if own else Path.home() / ".claude") / "settings.json"
        servers = (Path(own) if own else Path.home()) / ".claude.json"
    return [
        SettingsTarget(settings, SettingsFormat.JSON, hooks=_hook_groups("claude", caller)),
        SettingsTarget(servers, SettingsFormat.JSON, mcp=entry, mcp_keys=("mcpServers", SERVER)),
    ]


def _codex_targets(scope: SettingsScope, caller: MaestroCommand, directory: Path) -> list[SettingsTarget]:
    own = os.environ.get("CODEX_HOME")
    folder = directory / ".codex" if scope is SettingsScope.PROJECT else Path(own) if own else Path.home() / ".codex"
    # Not `required`: codex must start also without Maestro. A turn in the first second may lack Maestro's tools.
    entry = caller.mcp_entry()
    return [
        SettingsTarget(folder / "hooks.json", SettingsFormat.JSON, hooks=_hook_groups("codex", caller)),
        SettingsTarget(folder / "config.toml", SettingsFormat.TOML, mcp=entry, mcp_keys=("mcp_servers", SERVER)),
    ]


def _gemini_targets(scope: SettingsScope, caller: MaestroCommand, directory: Path) -> list[SettingsTarget]:
    own = os.environ.get("GEMINI_CLI_HOME")
    root = directory if scope is SettingsScope.PROJECT else Path(own) if own else Path.home()
    entry = {**caller.mcp_entry(), "trust": True}
    hooks = _hook_groups("gemini", caller)
    path = root / ".gemini" / "settings.json"
    return [SettingsTarget(path, SettingsFormat.JSON, hooks=hooks, mcp=entry, mcp_keys=("mcpServers", SERVER))]


_TARGETS = {"claude": _claude_targets, "codex": _codex_targets, "gemini": _gemini_targets}
TOOLS = tuple(_TARGETS)
