"""The settings files of Codex, and Maestro's entries in them. Codex runs no hook that the person has not reviewed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from maestro import __version__
from maestro.tools.codex.hooks import DIALECT
from maestro.tools.connect_support import (
    SERVER,
    ConnectSupport,
    HookReview,
    ListedHook,
    MaestroCommand,
    SettingsFormat,
    SettingsScope,
    SettingsTarget,
    home_folder,
)

_LIST_ID = 2


def settings_targets(
    scope: SettingsScope, command: MaestroCommand, directory: Path, environment: Mapping[str, str]
) -> list[SettingsTarget]:
    """Return the settings files of one scope, with Maestro's entries."""
    own = environment.get("CODEX_HOME")
    folder = (
        directory / ".codex"
        if scope is SettingsScope.PROJECT
        else Path(own)
        if own
        else home_folder(environment) / ".codex"
    )
    # Not `required`: codex must start also without Maestro. A turn in the first second may lack Maestro's tools.
    entry = command.mcp_entry()
    return [
        SettingsTarget(folder / "hooks.json", SettingsFormat.JSON, hooks=command.hook_groups(DIALECT)),
        SettingsTarget(folder / "config.toml", SettingsFormat.TOML, mcp=entry, mcp_keys=("mcp_servers", SERVER)),
    ]


def _list_requests(directory: Path) -> list[dict[str, Any]]:
    """Return the requests that make `codex app-server` list the hooks that apply in a directory."""
    return [
        {"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "maestro", "version": __version__}}},
        {"method": "initialized"},
        {"id": _LIST_ID, "method": "hooks/list", "params": {"cwds": [str(directory)]}},
    ]


def _listed_hooks(result: Any, is_maestro_hook: Callable[[Any], bool]) -> list[ListedHook] | None:
    """Return Maestro's hooks from the result of `hooks/list`; None if the result cannot be read."""
    try:
        hooks = [hook for listing in result["data"] for hook in listing["hooks"]]
        return [
            ListedHook(hook["key"], hook["eventName"], hook["currentHash"], hook["trustStatus"] == "trusted")
            for hook in hooks
            if is_maestro_hook(hook.get("command"))
        ]
    except (KeyError, TypeError):
        return None


def _reviewed_table(hook: ListedHook) -> tuple[tuple[str, ...], dict[str, str]]:
    return ("hooks", "state", hook.key), {"trusted_hash": hook.digest}


CONNECT = ConnectSupport(
    settings_targets=settings_targets,
    package="@openai/codex",
    tested_version="0.166.0",
    hook_summary=(
        "mail between tool calls; critical mail stops the next one; permission requests are shown; "
        "runs no hook that you have not reviewed"
    ),
    hook_review=HookReview(
        arguments=("app-server",),
        requests=_list_requests,
        answer_id=_LIST_ID,
        read_result=_listed_hooks,
        reviewed_table=_reviewed_table,
        skip_note="`codex exec` skips the hooks without a message",
    ),
)
