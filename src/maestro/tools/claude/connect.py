"""The settings files of Claude Code, and Maestro's entries in them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from maestro.tools.claude.hooks import DIALECT
from maestro.tools.connect_support import (
    SERVER,
    ConnectSupport,
    MaestroCommand,
    SettingsFormat,
    SettingsScope,
    SettingsTarget,
    home_folder,
)


def settings_targets(
    scope: SettingsScope, command: MaestroCommand, directory: Path, environment: Mapping[str, str]
) -> list[SettingsTarget]:
    """Return the settings files of one scope, with Maestro's entries."""
    entry = {"type": "stdio", **command.mcp_entry(), "alwaysLoad": True}
    own = environment.get("CLAUDE_CONFIG_DIR")
    if scope is SettingsScope.PROJECT:
        settings, servers = directory / ".claude" / "settings.json", directory / ".mcp.json"
    else:
        settings = (Path(own) if own else home_folder(environment) / ".claude") / "settings.json"
        servers = (Path(own) if own else home_folder(environment)) / ".claude.json"
    return [
        SettingsTarget(settings, SettingsFormat.JSON, hooks=command.hook_groups(DIALECT)),
        SettingsTarget(servers, SettingsFormat.JSON, mcp=entry, mcp_keys=("mcpServers", SERVER)),
    ]


CONNECT = ConnectSupport(
    settings_targets=settings_targets,
    package="@anthropic-ai/claude-code",
    tested_version="2.1.325",
    hook_summary="mail between tool calls; critical mail stops the next one; permission requests are shown",
)
