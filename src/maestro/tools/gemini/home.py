"""A home folder of Gemini for a session: links to the user's files, and settings of the user and Maestro together.

Gemini has no flag for settings of a single run. Its writes go through the links, as without Maestro. A file that
Gemini writes in the place of a link, and its settings file, stay with the session.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from maestro.core import errors
from maestro.text import jsonc
from maestro.tools.gemini.actions import MAESTRO_SERVER
from maestro.tools.hook_settings import HookGroups

_FOLDER, _SETTINGS = ".gemini", "settings.json"
_MACOS_SETTINGS = "/Library/Application Support/GeminiCli/settings.json"
_SYSTEM_SETTINGS = (
    "GEMINI_CLI_SYSTEM_SETTINGS_PATH",
    _MACOS_SETTINGS if sys.platform == "darwin" else "/etc/gemini-cli/settings.json",
)
_HOOK = "maestro"  # the name of Maestro's hooks in the settings
_BYTE_ORDER_MARK = "\ufeff"
# Gemini does not pass these to its MCP servers by itself. It replaces `$NAME` by the value at its start.
_MCP_VARIABLES = ("MAESTRO_TOKEN", "MAESTRO_SESSION_ID", "MAESTRO_SOCKET", "MAESTRO_SERVER_URL")


def find_user_folder(environment: Mapping[str, str]) -> Path:
    """Return the folder of the user's own settings."""
    return Path(environment.get("GEMINI_CLI_HOME") or environment.get("HOME") or "~").expanduser() / _FOLDER


def create_home(home_folder: Path, user_folder: Path, settings: Mapping[str, Any]) -> None:
    """Create or update a session's home folder: links to all files in the user's folder, and the settings."""
    folder = home_folder / _FOLDER
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    targets = {file.name: file.absolute() for file in user_folder.iterdir()} if user_folder.is_dir() else {}
    for link in folder.iterdir():
        if link.is_symlink():
            link.unlink()
    for name, target in targets.items():
        if name != _SETTINGS and not (folder / name).exists():
            (folder / name).symlink_to(target)
    (folder / _SETTINGS).write_text(json.dumps(settings, indent=2), encoding="utf-8")


def read_settings(file: Path) -> dict[str, Any]:
    """Return the settings in a file, which may have comments; {} if the file does not exist."""
    try:
        text = file.read_text(encoding="utf-8").lstrip(_BYTE_ORDER_MARK)
        values = jsonc.JsoncDocument(text).root.to_value() if text.strip() else {}
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, jsonc.JsoncUnreadable) as error:
        raise errors.Invalid(
            f"{file} cannot be used: {error}.", hint="Correct the file; Gemini cannot read it either."
        ) from error
    if not isinstance(values, dict):
        raise errors.Invalid(
            f"{file} cannot be used: the file is not a JSON object.",
            hint="Correct the file; Gemini cannot read it either.",
        )
    return values


def merge_settings(user_folder: Path, hooks: HookGroups, server: list[str]) -> dict[str, Any]:
    """Return the user's settings with Maestro's hooks, MCP server and options for a session in a terminal."""
    user_settings = read_settings(user_folder / _SETTINGS)
    all_hooks = {
        name: list(groups) for name, groups in _subsection(user_settings, "hooks").items() if isinstance(groups, list)
    }
    for event, groups in hooks.items():
        all_hooks[event] = [*all_hooks.get(event, ()), *groups]
    disabled = _subsection(user_settings, "hooksConfig").get("disabled")
    still_disabled = [name for name in disabled if name != _HOOK] if isinstance(disabled, list) else []
    variables = {name: f"${name}" for name in _MCP_VARIABLES}
    own_server = {"command": server[0], "args": server[1:], "env": variables, "trust": True}
    tools = _subsection(user_settings, "tools")
    return {
        **user_settings,
        "hooks": all_hooks,
        "hooksConfig": {**_subsection(user_settings, "hooksConfig"), "enabled": True, "disabled": still_disabled},
        "mcpServers": {**_subsection(user_settings, "mcpServers"), MAESTRO_SERVER: own_server},
        # `inject` and `modelSteering` together let the end of a background command start a turn.
        "tools": {**tools, "shell": {**_subsection(tools, "shell"), "backgroundCompletionBehavior": "inject"}},
        "experimental": {**_subsection(user_settings, "experimental"), "modelSteering": True},
        "general": {**_subsection(user_settings, "general"), "enableAutoUpdate": False},
    }


def may_run_without_dialogs(user_folder: Path, directory: str, environment: Mapping[str, str]) -> bool:
    """Tell whether Gemini can run without dialogs, because Maestro's hook before each tool call asks. Not if settings
    with a higher priority than the session's configure hooks, or if settings forbid the mode."""
    name, default = _SYSTEM_SETTINGS
    for file in (Path(directory) / _FOLDER / _SETTINGS, Path(environment.get(name) or default)):
        try:
            values = read_settings(file)
        except errors.Invalid:
            return False
        if "hooksConfig" in values or _is_yolo_forbidden(values):
            return False
    return not _is_yolo_forbidden(read_settings(user_folder / _SETTINGS))


def _is_yolo_forbidden(user_settings: Mapping[str, Any]) -> bool:
    is_secure = bool(_subsection(user_settings, "admin").get("secureModeEnabled"))
    return is_secure or bool(_subsection(user_settings, "security").get("disableYoloMode"))


def _subsection(section: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = section.get(name)
    return value if isinstance(value, dict) else {}
