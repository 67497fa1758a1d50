"""Settings have defaults, are changed without loss of comments, and an invalid file is refused."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from maestro.core import errors
from maestro.server import settings
from maestro.server.settings import ServerSettings


def test_without_a_file_all_settings_have_their_defaults(tmp_path: Path) -> None:
    assert settings.load_settings(tmp_path) == ServerSettings()
    assert settings.human_name(ServerSettings())


def test_a_changed_setting_is_read_back_from_the_file(tmp_path: Path) -> None:
    settings.change_setting(tmp_path, "human", 'Dana "the" O\\Neil ✓')
    settings.change_setting(tmp_path, "events_days", "7")
    assert settings.load_settings(tmp_path) == ServerSettings(human='Dana "the" O\\Neil ✓', events_days=7)
    assert "port" not in (tmp_path / "config.toml").read_text()


WRITTEN = """# My settings
human   =  'Dana'   # on records

# A busy machine:
events_days = 0x1E  # a month
"""


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_change_keeps_comments_order_and_format(tmp_path: Path, end: str) -> None:
    file, text = tmp_path / "config.toml", WRITTEN.replace("\n", end)
    file.write_bytes(text.encode())
    settings.change_setting(tmp_path, "events_days", "7")
    assert file.read_bytes().decode() == text.replace("0x1E", "7")
    settings.change_setting(tmp_path, "keep_worktrees", "true")
    assert file.read_bytes().decode() == text.replace("0x1E", "7") + "keep_worktrees = true\n"
    assert settings.load_settings(tmp_path) == ServerSettings(human="Dana", events_days=7, keep_worktrees=True)


@pytest.mark.parametrize("text", ["port = 1", "# a comment", "", "\n\n", "'port' = 1", 'human = """\nDana"""'])
@pytest.mark.parametrize(("name", "value"), [("port", "2"), ("human", "Ada"), ("keep_worktrees", "true")])
def test_a_setting_can_be_changed_in_any_valid_file(tmp_path: Path, text: str, name: str, value: str) -> None:
    (tmp_path / "config.toml").write_text(text)
    before = msgspec.structs.asdict(settings.load_settings(tmp_path))
    changed = settings.change_setting(tmp_path, name, value)
    assert settings.load_settings(tmp_path) == changed
    after = msgspec.structs.asdict(changed)
    assert {key for key in after if after[key] != before[key]} <= {name} and str(after[name]).lower() == value.lower()


@pytest.mark.parametrize("data", [b"port = # mine", b"colour = 1 # unknown\n", b"port = 'x'", b"[port]", b"\xff"])
def test_a_change_of_a_file_with_errors_is_refused_and_the_file_stays_unchanged(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "config.toml").write_bytes(data)
    with pytest.raises(errors.Invalid, match=r"config\.toml") as refused:
        settings.change_setting(tmp_path, "port", "5000")
    assert "Correct the file" in (refused.value.hint or "")
    assert (tmp_path / "config.toml").read_bytes() == data


def test_the_start_of_a_server_does_not_import_the_editor_of_settings() -> None:
    code = "import sys, maestro.server.app; sys.exit('tomlkit' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(("name", "value"), [("events_days", "-1"), ("port", "many"), ("port", "70000")])
def test_an_invalid_value_is_refused_and_the_settings_stay_unchanged(tmp_path: Path, name: str, value: str) -> None:
    with pytest.raises(errors.Invalid):
        settings.change_setting(tmp_path, name, value)
    assert settings.load_settings(tmp_path) == ServerSettings()


def test_an_unknown_setting_is_refused(tmp_path: Path) -> None:
    with pytest.raises(errors.NotFound, match="no setting"):
        settings.change_setting(tmp_path, "colour", "red")


@pytest.mark.parametrize("text", ["port = ", "colour = 1", "port = 'x'", "\x00"])
def test_loading_an_invalid_settings_file_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.toml").write_text(text)
    with pytest.raises(errors.Invalid, match=r"config\.toml"):
        settings.load_settings(tmp_path)
