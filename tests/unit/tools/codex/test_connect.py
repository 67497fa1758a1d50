"""Hooks and MCP server of Maestro go into the settings files of Codex, and the review of hooks is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from maestro.tools.codex.connect import CONNECT, settings_targets
from maestro.tools.codex.hooks import DIALECT
from maestro.tools.connect_support import ListedHook, MaestroCommand, SettingsFormat, SettingsScope

COMMAND = MaestroCommand("/opt/maestro")
assert CONNECT.hook_review is not None
REVIEW = CONNECT.hook_review


@pytest.mark.parametrize(
    ("scope", "environment", "folder"),
    [
        (SettingsScope.PROJECT, {"HOME": "/h", "CODEX_HOME": "/c"}, "/src/vc/.codex"),
        (SettingsScope.USER, {"HOME": "/h"}, "/h/.codex"),
        (SettingsScope.USER, {"HOME": "/h", "CODEX_HOME": "/c"}, "/c"),
    ],
)
def test_hooks_and_mcp_server_of_codex_go_into_two_files_of_the_same_folder(
    scope: SettingsScope, environment: dict[str, str], folder: str
) -> None:
    hooks, mcp = settings_targets(scope, COMMAND, Path("/src/vc"), environment)
    assert (hooks.path, hooks.format) == (Path(folder) / "hooks.json", SettingsFormat.JSON)
    assert (mcp.path, mcp.format) == (Path(folder) / "config.toml", SettingsFormat.TOML)
    assert hooks.hooks.keys() == DIALECT.events.keys()
    assert (mcp.mcp_keys, mcp.mcp) == (("mcp_servers", "maestro"), COMMAND.mcp_entry())


def hook(**fields: Any) -> dict[str, Any]:
    values = {
        "key": "k1", "eventName": "stop", "currentHash": "h1", "trustStatus": "trusted", "command": "maestro hook"
    }  # fmt: skip
    return {**values, **fields}


def listed(*hooks: Any) -> list[ListedHook] | None:
    return REVIEW.read_result({"data": [{"hooks": list(hooks)}]}, lambda command: command == "maestro hook")


def test_only_the_hooks_of_maestro_are_listed_with_their_review() -> None:
    found = listed(hook(), hook(key="k2", trustStatus="untrusted"), hook(command="theirs"), hook(command=None))
    assert found == [ListedHook("k1", "stop", "h1", True), ListedHook("k2", "stop", "h1", False)]
    assert listed() == []


@pytest.mark.parametrize(
    "result", [None, {}, {"data": None}, {"data": [{}]}, {"data": [{"hooks": [{"command": "maestro hook"}]}]}]
)
def test_an_unreadable_result_gives_no_list_of_hooks(result: Any) -> None:
    assert REVIEW.read_result(result, lambda command: True) is None


def test_the_list_of_hooks_is_requested_for_a_directory_after_initialize() -> None:
    first, *_, last = REVIEW.requests(Path("/src/vc"))
    assert first["method"] == "initialize"
    assert (last["method"], last["id"], last["params"]) == ("hooks/list", REVIEW.answer_id, {"cwds": ["/src/vc"]})


def test_a_reviewed_hook_is_marked_with_its_hash_under_its_key() -> None:
    keys, content = REVIEW.reviewed_table(ListedHook("k.1", "stop", "h1", False))
    assert keys == ("hooks", "state", "k.1") and content == {"trusted_hash": "h1"}
