"""The Gemini home of a session links the user's files and merges the settings of the user and of Maestro."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from maestro.core import errors
from maestro.tools.gemini import home

HOOK = [{"hooks": [{"name": "maestro", "type": "command", "command": "maestro hook gemini BeforeTool"}]}]
THEIRS = """\ufeff{
  // how I like it
  "ui": {"theme": "Ayu",},
  "security": {"auth": {"selectedType": "oauth-personal"}},
  "tools": {"shell": {"pager": "less"}, "sandbox": false},
  "mcpServers": {"theirs": {"command": "x"}, "maestro": {"command": "old"}},
  "hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": "mine"}]}], "AfterTool": []},
  "hooksConfig": {"enabled": false, "disabled": ["maestro", "another"]}, /* for now */
}
"""


@pytest.fixture
def own(tmp_path: Path) -> Path:
    folder = tmp_path / "dana" / ".gemini"
    (folder / "tmp").mkdir(parents=True)
    (folder / "settings.json").write_text(THEIRS)
    (folder / "oauth_creds.json").write_text("{}")
    return folder


def test_the_settings_of_the_user_and_of_maestro_are_merged(own: Path) -> None:
    made = home.merge_settings(own, {"BeforeTool": HOOK}, ["maestro", "mcp"])
    assert (made["ui"], made["security"]) == ({"theme": "Ayu"}, {"auth": {"selectedType": "oauth-personal"}})
    assert made["hooks"]["BeforeTool"] == [{"hooks": [{"type": "command", "command": "mine"}]}, *HOOK]
    assert made["hooksConfig"] == {"enabled": True, "disabled": ["another"]}, "The hooks of Maestro would not run."
    assert made["mcpServers"]["theirs"] == {"command": "x"}
    assert (made["mcpServers"]["maestro"]["command"], made["mcpServers"]["maestro"]["trust"]) == ("maestro", True)
    assert made["mcpServers"]["maestro"]["env"]["MAESTRO_TOKEN"] == "$MAESTRO_TOKEN"
    assert made["tools"] == {"sandbox": False, "shell": {"pager": "less", "backgroundCompletionBehavior": "inject"}}
    assert made["experimental"] == {"modelSteering": True}


@pytest.mark.parametrize("text", [None, "", "{}", '{"tools": "odd", "hooks": [], "mcpServers": null}'])
def test_without_usable_settings_of_the_user_the_settings_of_maestro_apply(text: str | None, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / "settings.json").write_text(text)
    made = home.merge_settings(tmp_path, {"BeforeTool": HOOK}, ["maestro", "mcp"])
    assert made["hooks"] == {"BeforeTool": HOOK}
    assert made["tools"]["shell"] == {"backgroundCompletionBehavior": "inject"}


@pytest.mark.parametrize("text", ["{", "[]", "\x00", '"words"'])
def test_an_unreadable_settings_file_of_the_user_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text(text)
    with pytest.raises(errors.Invalid, match=r"settings\.json cannot be used"):
        home.merge_settings(tmp_path, {}, ["maestro", "mcp"])


def test_other_files_are_linked_and_the_user_s_files_stay_unchanged(own: Path, tmp_path: Path) -> None:
    place = tmp_path / "session"
    for _ in range(2):  # a second start finds the files of the first start
        home.create_home(place, own, {"a": 1})
        made = place / ".gemini"
        assert json.loads((made / "settings.json").read_text()) == {"a": 1}
        assert not (made / "settings.json").is_symlink()
        assert (made / "oauth_creds.json").readlink() == own / "oauth_creds.json"
        assert (made / "tmp").resolve() == own / "tmp"
    assert (own / "settings.json").read_text() == THEIRS
    (own / "oauth_creds.json").unlink()
    (own / "GEMINI.md").write_text("Be brief.")
    (made / "state.json").write_text("its own")
    (own / "state.json").write_text("theirs")
    home.create_home(place, own, {})
    assert not (made / "oauth_creds.json").is_symlink()
    assert (made / "GEMINI.md").read_text() == "Be brief."
    assert (made / "state.json").read_text() == "its own"


def test_a_user_without_a_folder_of_gemini_gets_a_home(tmp_path: Path) -> None:
    home.create_home(tmp_path / "session", tmp_path / "nowhere", {})
    assert [file.name for file in (tmp_path / "session" / ".gemini").iterdir()] == ["settings.json"]


@pytest.mark.parametrize(
    ("where", "text", "may"),
    [
        ("own", "{}", True),
        (
            "own",
            '{"hooksConfig": {"enabled": false}}',
            True,
        ),  # the settings of the session override the user's settings
        ("own", '{"security": {"disableYoloMode": true}}', False),
        ("work", '{"ui": {}}', True),
        ("work", '{"hooksConfig": {"disabled": ["maestro"]}}', False),
        ("work", '{"security": {"disableYoloMode": true}}', False),
        ("work", "{", False),
        ("system", '{"admin": {"secureModeEnabled": true}}', False),
        ("system", '{"hooksConfig": {}}', False),
    ],
)
def test_gemini_runs_without_dialogs_only_if_the_hook_of_maestro_runs(
    where: str, text: str, may: bool, tmp_path: Path
) -> None:
    places = {name: tmp_path / name for name in ("own", "work/.gemini", "system")}
    for place in places.values():
        place.mkdir(parents=True)
    (tmp_path / ("work/.gemini" if where == "work" else where) / "settings.json").write_text(text)
    environment = {"GEMINI_CLI_SYSTEM_SETTINGS_PATH": str(places["system"] / "settings.json")}
    assert home.may_run_without_dialogs(places["own"], str(tmp_path / "work"), environment) is may
