"""Create the home folder of Gemini for a session: links to the user's files, and merged settings of user and Maestro.

Gemini has no flag for the settings of one session. Gemini writes through the links into the user's files. Gemini's
settings file, and a file that replaces a link, stay in the session's folder.
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
from maestro.tools.gemini.hooks import DIALECT, HOOK_NAME
from maestro.tools.hook_settings import HookGroups

_FOLDER, _SETTINGS = ".gemini", "settings.json"
_SYSTEM_SETTINGS_VARIABLE = "GEMINI_CLI_SYSTEM_SETTINGS_PATH"
_MACOS_SETTINGS = "/Library/Application Support/GeminiCli/settings.json"
_SYSTEM_SETTINGS_DEFAULT = _MACOS_SETTINGS if sys.platform == "darwin" else "/etc/gemini-cli/settings.json"
_BYTE_ORDER_MARK = "\ufeff"
# Gemini does not pass these variables to its MCP servers by itself. It replaces `$NAME` by the value at its start.
_MCP_VARIABLES = ("MAESTRO_TOKEN", "MAESTRO_SESSION_ID", "MAESTRO_SOCKET", "MAESTRO_SERVER_URL")


def find_settings_folder(environment: Mapping[str, str]) -> Path:
    """Return Gemini's folder in an environment: the user's, or the session's if the environment names its home."""
    return Path(DIALECT.own_folder(environment))


def create_home(home_folder: Path, user_folder: Path, settings: Mapping[str, Any]) -> None:
    """Create or update a session's home folder: links to all entries of the user's folder, and the settings."""
    folder = home_folder / _FOLDER
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    targets = {entry.name: entry.absolute() for entry in user_folder.iterdir()} if user_folder.is_dir() else {}
    for entry in folder.iterdir():
        if entry.is_symlink():
            entry.unlink()
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
        raise _unusable_file(file, str(error)) from error
    if not isinstance(values, dict):
        raise _unusable_file(file, "the file is not a JSON object")
    return values


def _unusable_file(file: Path, problem: str) -> errors.Invalid:
    hint = "Correct the file; Gemini cannot read it either."
    return errors.Invalid(f"{file} cannot be used: {problem}.", hint=hint)


def merge_settings(user_folder: Path, hooks: HookGroups, mcp_command: list[str]) -> dict[str, Any]:
    """Return the user's settings with Maestro's hooks, MCP server and options for a session in a terminal."""
    user_settings = read_settings(user_folder / _SETTINGS)
    all_hooks = {
        name: list(groups) for name, groups in _subsection(user_settings, "hooks").items() if isinstance(groups, list)
    }
    for event, groups in hooks.items():
        all_hooks[event] = [*all_hooks.get(event, ()), *groups]
    disabled = _subsection(user_settings, "hooksConfig").get("disabled")
    still_disabled = [name for name in disabled if name != HOOK_NAME] if isinstance(disabled, list) else []
    variables = {name: f"${name}" for name in _MCP_VARIABLES}
    own_server = {"command": mcp_command[0], "args": mcp_command[1:], "env": variables, "trust": True}
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
    """Return whether Gemini can run in its mode `yolo`, without dialogs.

    Maestro's hook before each tool call then decides. Project or system settings that configure hooks, or settings
    that forbid the mode, prevent this.
    """
    system_settings = Path(environment.get(_SYSTEM_SETTINGS_VARIABLE) or _SYSTEM_SETTINGS_DEFAULT)
    for file in (Path(directory) / _FOLDER / _SETTINGS, system_settings):
        try:
            values = read_settings(file)
        except errors.Invalid:
            return False
        if "hooksConfig" in values or _is_yolo_forbidden(values):
            return False
    # An unreadable file of the user is an error, because the session's settings contain the user's settings.
    return not _is_yolo_forbidden(read_settings(user_folder / _SETTINGS))


def _is_yolo_forbidden(settings: Mapping[str, Any]) -> bool:
    is_secure = bool(_subsection(settings, "admin").get("secureModeEnabled"))
    return is_secure or bool(_subsection(settings, "security").get("disableYoloMode"))


def _subsection(section: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = section.get(name)
    return value if isinstance(value, dict) else {}
