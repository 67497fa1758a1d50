"""`maestro connect` and `maestro disconnect` change the settings of tools, test the hooks and undo the changes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SETTINGS = '{\n  // mine\n  "ui": {"theme": "dark"},\n}\n'


def test_connect_shows_writes_and_tests_settings_and_disconnect_restores_them(person: Any) -> None:
    shown = person.run("connect", "gemini", "--dry-run")
    assert "+++" in shown and '+  "hooks": {' in shown and '"ui"' in shown
    assert person.settings.read_text() == SETTINGS
    said = person.run("connect", "gemini")
    assert "8 of 8 hooks were fired and answered" in said and "gemini is connected" in said
    assert person.settings.read_text() != SETTINGS
    assert "already up to date" in person.run("connect", "gemini")
    assert "nothing to change" in person.run("connect", "gemini", "--dry-run")
    assert "-  " in person.run("disconnect", "gemini", "--dry-run")
    assert "Maestro was removed" in person.run("disconnect", "gemini")
    assert person.settings.read_text() == SETTINGS
    assert person.run("disconnect", "gemini") == "", "a second disconnect has nothing to do"
    assert any((person.live.home / "connect").glob("*.before")), "the copy of the original file stays"


def test_connect_in_a_project_writes_only_the_settings_of_the_project(person: Any) -> None:
    (person.work / ".git").mkdir()
    deep = person.work / "a" / "b"
    deep.mkdir(parents=True)
    person.run("connect", "claude", "--scope", "project")
    assert json.loads((person.work / ".mcp.json").read_text())["mcpServers"].keys() == {"maestro"}
    assert (person.work / ".claude" / "settings.json").exists()
    assert sorted(one.name for one in person.home.iterdir()) == [".gemini"], (
        "the person's own settings stay unchanged"
    )
    person.run("disconnect", "claude")
    assert sorted(one.name for one in person.work.iterdir()) == [".git", "a"]


def test_a_file_that_cannot_be_changed_leaves_all_files_unchanged(person: Any) -> None:
    (person.home / ".claude.json").write_text("{broken")
    said = person.run("connect", "claude", code=1)
    assert ".claude.json is not changed: the file cannot be read" in said and "nothing was changed" in said
    assert not (person.home / ".claude").exists()
    person.run("connect", "claude", "--dry-run", code=1)


def test_wrong_arguments_of_connect_are_refused(person: Any) -> None:
    assert "usage: maestro connect" in person.run("connect", code=2)
    assert "invalid choice" in person.run("connect", "vim", code=2)
    assert "invalid choice" in person.run("connect", "claude", "--scope", "moon", code=2)


def test_an_agent_may_not_change_the_settings_of_the_person(person: Any) -> None:
    """The server refuses the token. Without a server the client refuses every token."""
    for word in ("connect", "disconnect"):
        said = person.run(word, "gemini", code=4, MAESTRO_TOKEN="mst_x")
        assert "only the person" in said or "The token is not valid" in said
    assert person.settings.read_text() == SETTINGS


def test_without_a_server_the_hooks_are_reported_as_untested(person: Any, tmp_path: Path) -> None:
    said = person.run("connect", "gemini", code=1, MAESTRO_SOCKET=str(tmp_path / "none"))
    assert "were not tested" in said
    assert "maestro hook" in person.settings.read_text()
