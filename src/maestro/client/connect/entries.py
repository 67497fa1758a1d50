"""Maestro's entries in the settings of each tool, and how to recognise the entries again."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

from maestro.tools import registry
from maestro.tools.connect_support import MaestroCommand, SettingsScope, SettingsTarget

TOOLS = tuple(registry.CONNECTABLE)
_OURS = re.compile(rf"(?:^|[/\s'\"])maestro(?:-py)?['\"]? hook (?:{'|'.join(map(re.escape, TOOLS))}) \w+$")


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
    return registry.CONNECTABLE[tool].settings_targets(scope, command, directory, os.environ)
