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
    custom_home = environment.get("GEMINI_CLI_HOME")
    home = Path(custom_home) if custom_home else home_folder(environment)
    root = directory if scope is SettingsScope.PROJECT else home
    entry = {**command.mcp_entry(), "trust": True}
    hooks = command.hook_groups(DIALECT)
    path = root / ".gemini" / "settings.json"
    return [SettingsTarget(path, SettingsFormat.JSON, hooks=hooks, mcp=entry, mcp_keys=("mcpServers", SERVER))]


CONNECT = ConnectSupport(
    settings_targets=settings_targets,
    package="@google/gemini-cli",
    tested_version="0.61.0",
    hook_summary=(
        "mail between tool calls; critical mail stops the next tool call; permission requests are shown; "
        "the program does not report when it compresses its context"
    ),
)
