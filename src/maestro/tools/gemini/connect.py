"""The settings file of Gemini CLI, and Maestro's entries in the file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from maestro.tools.connect_support import (
    SERVER,
    ConnectSupport,
    MaestroCommand,
    SettingsFormat,
    SettingsScope,
    SettingsTarget,
    home_folder,
)
from maestro.tools.gemini.hooks import DIALECT


def settings_targets(
    scope: SettingsScope, command: MaestroCommand, directory: Path, environment: Mapping[str, str]
) -> list[SettingsTarget]:
    """Return the settings file of one scope, with Maestro's entries."""
    own = environment.get("GEMINI_CLI_HOME")
    root = directory if scope is SettingsScope.PROJECT else Path(own) if own else home_folder(environment)
    entry = {**command.mcp_entry(), "trust": True}
    hooks = command.hook_groups(DIALECT)
    path = root / ".gemini" / "settings.json"
    return [SettingsTarget(path, SettingsFormat.JSON, hooks=hooks, mcp=entry, mcp_keys=("mcpServers", SERVER))]


CONNECT = ConnectSupport(
    settings_targets=settings_targets,
    package="@google/gemini-cli",
    tested_version="0.61.0",
    hook_summary=(
        "mail between tool calls; critical mail stops the next one; permission requests are shown; "
        "does not tell when it has compressed its context by itself"
    ),
)
