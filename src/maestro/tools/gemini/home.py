"""A home of gemini's for one session: the user's own, by links, but for the settings, which are theirs and ours.

The program has no flag for settings of one run. Whatever it writes goes where it would go without us, through the
links; what it writes anew in the place of a link, or of its settings, stays with the session.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from maestro.core import errors
from maestro.text import jsonc
from maestro.tools.gemini.actions import OUR_SERVER
from maestro.tools.hooks.wiring import Groups

_FOLDER, _SETTINGS = ".gemini", "settings.json"
_OF_MACS = "/Library/Application Support/GeminiCli/settings.json"
_SYSTEM = (
    "GEMINI_CLI_SYSTEM_SETTINGS_PATH",
    _OF_MACS if sys.platform == "darwin" else "/etc/gemini-cli/settings.json",
)
_HOOK = "maestro"  # what our hooks are called there
_MARK = "\ufeff"
# It hands its servers none of these by itself. Where their values stand, they are put in when it starts.
_PASSED = ("MAESTRO_TOKEN", "MAESTRO_SESSION_ID", "MAESTRO_SOCKET", "MAESTRO_SERVER_URL")


def theirs(environment: Mapping[str, str]) -> Path:
    """Where the user's own settings are."""
    return Path(environment.get("GEMINI_CLI_HOME") or environment.get("HOME") or "~").expanduser() / _FOLDER


def lay(place: Path, own: Path, settings: Mapping[str, Any]) -> None:
    """Makes such a home, or brings it up to date: links to all that is in their folder, and settings."""
    folder = place / _FOLDER
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    found = {one.name: one.absolute() for one in own.iterdir()} if own.is_dir() else {}
    for link in folder.iterdir():
        if link.is_symlink():
            link.unlink()
    for name, target in found.items():
        if name != _SETTINGS and not (folder / name).exists():
            (folder / name).symlink_to(target)
    (folder / _SETTINGS).write_text(json.dumps(settings, indent=2), encoding="utf-8")


def read(file: Path) -> dict[str, Any]:
    """Settings as people write them, comments included; nothing if there are none."""
    try:
        text = file.read_text(encoding="utf-8").lstrip(_MARK)
        found = jsonc.Document(text).root.data() if text.strip() else {}
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, jsonc.Unreadable) as error:
        raise errors.Invalid(f"{file} cannot be used: {error}.", hint="Gemini could not read it either.") from error
    if not isinstance(found, dict):
        raise errors.Invalid(f"{file} cannot be used: it holds no settings.", hint="Gemini could not read it either.")
    return found


def settings(own: Path, hooks: Groups, server: list[str]) -> dict[str, Any]:
    """The user's, with what a session in a terminal needs."""
    found = read(own / _SETTINGS)
    made = {name: list(groups) for name, groups in _under(found, "hooks").items() if isinstance(groups, list)}
    for event, groups in hooks.items():
        made[event] = [*made.get(event, ()), *groups]
    off = _under(found, "hooksConfig").get("disabled")
    switched_off = [one for one in off if one != _HOOK] if isinstance(off, list) else []
    passed = {name: f"${name}" for name in _PASSED}
    ours = {"command": server[0], "args": server[1:], "env": passed, "trust": True}
    tools = _under(found, "tools")
    return {
        **found,
        "hooks": made,
        "hooksConfig": {**_under(found, "hooksConfig"), "enabled": True, "disabled": switched_off},
        "mcpServers": {**_under(found, "mcpServers"), OUR_SERVER: ours},
        # Both are needed for a command that ends to start a turn.
        "tools": {**tools, "shell": {**_under(tools, "shell"), "backgroundCompletionBehavior": "inject"}},
        "experimental": {**_under(found, "experimental"), "modelSteering": True},
        "general": {**_under(found, "general"), "enableAutoUpdate": False},
    }


def may_leave_asking_to_us(own: Path, directory: str, environment: Mapping[str, str]) -> bool:
    """Whether the program can be told to ask nobody, because our hook before each tool does: not if settings that
    count more than the session's own say something about hooks, or if that mode is not to be had."""
    name, usual = _SYSTEM
    for file in (Path(directory) / _FOLDER / _SETTINGS, Path(environment.get(name) or usual)):
        try:
            found = read(file)
        except errors.Invalid:
            return False
        if "hooksConfig" in found or _forbids(found):
            return False
    return not _forbids(read(own / _SETTINGS))


def _forbids(found: Mapping[str, Any]) -> bool:
    is_secure = bool(_under(found, "admin").get("secureModeEnabled"))
    return is_secure or bool(_under(found, "security").get("disableYoloMode"))


def _under(found: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = found.get(name)
    return value if isinstance(value, dict) else {}
