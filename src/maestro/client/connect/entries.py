"""What Maestro puts into each program's settings, where these lie, and how its own is known again."""

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

from maestro.tools.hooks.wiring import Groups, by_command

SERVER = "maestro"  # what the MCP server is called there
_OURS = re.compile(r"(?:^|[/\s'\"])maestro(?:-py)?['\"]? hook (?:claude|codex|gemini) \w+$")


class Scope(enum.StrEnum):
    USER = "user"
    PROJECT = "project"


class Format(enum.Enum):
    JSON = "json"
    TOML = "toml"


@dataclass(frozen=True)
class Target:
    """One file, and what is to stand in it."""

    path: Path
    format: Format
    hooks: Mapping[str, list[dict[str, Any]]] = field(default_factory=dict)
    mcp: Mapping[str, Any] | None = None
    mcp_keys: tuple[str, ...] = ()


@dataclass(frozen=True)
class Caller:
    """How the programs are to call Maestro."""

    program: str
    home: str = ""  # a data directory that is not the usual one

    def hook(self, tool: str, event: str) -> str:
        words = shlex.join([self.program, "hook", tool, event])
        return f"MAESTRO_HOME={shlex.quote(self.home)} {words}" if self.home else words

    def mcp(self) -> dict[str, Any]:
        entry: dict[str, Any] = {"command": self.program, "args": ["mcp"]}
        return {**entry, "env": {"MAESTRO_HOME": self.home}} if self.home else entry


def this_program() -> Caller:
    """The command beside the interpreter that runs this, by its whole path: programs do not always have ours."""
    beside = Path(sys.executable).parent / "maestro"
    program = str(beside) if os.access(beside, os.X_OK) else "maestro"
    home = os.environ.get("MAESTRO_HOME", "")
    return Caller(program, str(Path(home).absolute()) if home else "")


def is_ours(command: Any) -> bool:
    """Whether a hook's command is one of Maestro's, of whatever installation."""
    return isinstance(command, str) and _OURS.search(command) is not None


def is_left_over(mcp: Any) -> bool:
    """Whether an MCP entry is that of a Maestro which is not there any more: nobody can use it as it is."""
    if not isinstance(mcp, dict) or mcp.get("args") != ["mcp"] or not isinstance(mcp.get("command"), str):
        return False
    program = Path(mcp["command"])
    return program.name in ("maestro", "maestro-py") and program.is_absolute() and not program.exists()


def targets(tool: str, scope: Scope, caller: Caller, *, directory: Path) -> list[Target]:
    """The files of one program."""
    return _TARGETS[tool](scope, caller, directory)


def _hooks(tool: str, caller: Caller) -> Groups:
    return by_command(tool, lambda event: caller.hook(tool, event))


def _claude(scope: Scope, caller: Caller, directory: Path) -> list[Target]:
    entry = {"type": "stdio", **caller.mcp(), "alwaysLoad": True}
    own = os.environ.get("CLAUDE_CONFIG_DIR")
    if scope is Scope.PROJECT:
        settings, servers = directory / ".claude" / "settings.json", directory / ".mcp.json"
    else:
        settings = (Path(own) if own else Path.home() / ".claude") / "settings.json"
        servers = (Path(own) if own else Path.home()) / ".claude.json"
    return [
        Target(settings, Format.JSON, hooks=_hooks("claude", caller)),
        Target(servers, Format.JSON, mcp=entry, mcp_keys=("mcpServers", SERVER)),
    ]


def _codex(scope: Scope, caller: Caller, directory: Path) -> list[Target]:
    own = os.environ.get("CODEX_HOME")
    folder = directory / ".codex" if scope is Scope.PROJECT else Path(own) if own else Path.home() / ".codex"
    # Not `required`: what is asked in the first second may go without the tools, but codex starts whatever we do.
    entry = caller.mcp()
    return [
        Target(folder / "hooks.json", Format.JSON, hooks=_hooks("codex", caller)),
        Target(folder / "config.toml", Format.TOML, mcp=entry, mcp_keys=("mcp_servers", SERVER)),
    ]


def _gemini(scope: Scope, caller: Caller, directory: Path) -> list[Target]:
    own = os.environ.get("GEMINI_CLI_HOME")
    root = directory if scope is Scope.PROJECT else Path(own) if own else Path.home()
    entry = {**caller.mcp(), "trust": True}
    hooks = _hooks("gemini", caller)
    path = root / ".gemini" / "settings.json"
    return [Target(path, Format.JSON, hooks=hooks, mcp=entry, mcp_keys=("mcpServers", SERVER))]


_TARGETS = {"claude": _claude, "codex": _codex, "gemini": _gemini}
TOOLS = tuple(_TARGETS)
