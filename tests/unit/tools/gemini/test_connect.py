"""The hooks and the MCP server of Maestro go into the settings file of Gemini CLI."""

from __future__ import annotations

from pathlib import Path

import pytest

from maestro.tools.connect_support import MaestroCommand, SettingsFormat, SettingsScope
from maestro.tools.gemini.connect import settings_targets
from maestro.tools.gemini.hooks import DIALECT

COMMAND = MaestroCommand("/opt/maestro")


@pytest.mark.parametrize(
    ("scope", "environment", "file"),
    [
        (SettingsScope.PROJECT, {"HOME": "/h", "GEMINI_CLI_HOME": "/g"}, "/src/vc/.gemini/settings.json"),
        (SettingsScope.USER, {"HOME": "/h"}, "/h/.gemini/settings.json"),
        (SettingsScope.USER, {"HOME": "/h", "GEMINI_CLI_HOME": "/g"}, "/g/.gemini/settings.json"),
    ],
)
def test_hooks_and_mcp_server_of_gemini_go_into_the_same_file(
    scope: SettingsScope, environment: dict[str, str], file: str
) -> None:
    (target,) = settings_targets(scope, COMMAND, Path("/src/vc"), environment)
    assert (target.path, target.format) == (Path(file), SettingsFormat.JSON)
    assert target.hooks.keys() == DIALECT.events.keys()
    assert (target.mcp_keys, target.mcp) == (("mcpServers", "maestro"), {**COMMAND.mcp_entry(), "trust": True})
