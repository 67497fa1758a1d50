"""The hooks and the MCP server of Maestro go into the settings files of Claude Code."""

from __future__ import annotations

from pathlib import Path

import pytest

from maestro.tools.claude.connect import settings_targets
from maestro.tools.claude.hooks import DIALECT
from maestro.tools.connect_support import MaestroCommand, SettingsFormat, SettingsScope

COMMAND = MaestroCommand("/opt/maestro")
PROJECT = Path("/src/vc")


@pytest.mark.parametrize(
    ("scope", "environment", "settings", "servers"),
    [
        (SettingsScope.PROJECT, {"HOME": "/h"}, "/src/vc/.claude/settings.json", "/src/vc/.mcp.json"),
        (SettingsScope.PROJECT, {"CLAUDE_CONFIG_DIR": "/c"}, "/src/vc/.claude/settings.json", "/src/vc/.mcp.json"),
        (SettingsScope.USER, {"HOME": "/h"}, "/h/.claude/settings.json", "/h/.claude.json"),
        (SettingsScope.USER, {"HOME": "/h", "CLAUDE_CONFIG_DIR": "/c"}, "/c/settings.json", "/c/.claude.json"),
    ],
)
def test_hooks_and_mcp_server_of_claude_go_into_two_files(
    scope: SettingsScope, environment: dict[str, str], settings: str, servers: str
) -> None:
    hooks, mcp = settings_targets(scope, COMMAND, PROJECT, environment)
    assert (hooks.path, mcp.path) == (Path(settings), Path(servers))
    assert hooks.format is mcp.format is SettingsFormat.JSON
    assert hooks.hooks.keys() == DIALECT.events.keys() and hooks.mcp is None and mcp.hooks == {}


def test_the_entry_of_the_mcp_server_makes_claude_always_load_it() -> None:
    _, mcp = settings_targets(SettingsScope.USER, COMMAND, PROJECT, {"HOME": "/h"})
    assert mcp.mcp_keys == ("mcpServers", "maestro")
    assert mcp.mcp == {"type": "stdio", "command": "/opt/maestro", "args": ["mcp"], "alwaysLoad": True}
