"""The support for `maestro connect parrot`: the settings file of the parrot."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from maestro.tools.parrot.hooks import DIALECT

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
    """Return the settings file of one scope, with Maestro's entries."""
    root = directory if scope is SettingsScope.PROJECT else home_folder(environment)
    return [
        SettingsTarget(
            root / ".parrot" / "settings.json",
            SettingsFormat.JSON,
            hooks=command.hook_groups(DIALECT),
            mcp=command.mcp_entry(),
            mcp_keys=("servers", SERVER),
        )
    ]


CONNECT = ConnectSupport(
    settings_targets=settings_targets,
    package="parrot",
    tested_version="1.0",
    hook_summary="mail between tool calls",
)
