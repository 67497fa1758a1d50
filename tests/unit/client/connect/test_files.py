"""A settings file is replaced as a whole, only if no other program changed the file, and keeps its link and mode."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from maestro.client.connect import changes, files
from maestro.client.connect.change_records import ConnectRecords
from maestro.client.connect.settings_text import NotChangeable
from maestro.tools.connect_support import SettingsTarget


def connect(target: SettingsTarget, records: ConnectRecords) -> None:
    change = changes.plan_connect(target, records)
    changes.apply_connect(target, change, records, tool="gemini", scope="user")


def disconnect(target: SettingsTarget, records: ConnectRecords) -> None:
    changes.apply_disconnect(target, changes.plan_disconnect(target, records), records)


def read_only(path: Path) -> None:
    path.chmod(0o444)


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def not_text(path: Path) -> None:
    path.write_bytes(b'{"a": "\xff\xfe"}')


def too_large(path: Path) -> None:
    with path.open("wb") as out:
        out.truncate(files.BYTES_MAX + 1)


def circular(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.name)


@pytest.mark.parametrize("spoil", [read_only, a_folder, a_pipe, not_text, too_large, circular])
def test_a_path_that_is_not_a_writable_text_file_is_not_changed(
    spoil: Callable[[Path], None], target: SettingsTarget, records: ConnectRecords
) -> None:
    target.path.write_text('{"a": 1}')
    spoil(target.path)
    with pytest.raises(NotChangeable):
        connect(target, records)
    assert records.records_of_tool("gemini") == []


def test_links_to_a_settings_file_are_followed_and_stay(
    target: SettingsTarget, records: ConnectRecords, tmp_path: Path
) -> None:
    real = tmp_path / "dotfiles" / "gemini.json"
    real.parent.mkdir()
    real.write_text('{"a": 1}\n')
    real.chmod(0o640)
    target.path.symlink_to(real)
    connect(target, records)
    assert target.path.is_symlink() and "maestro hook" in real.read_text()
    assert real.stat().st_mode & 0o777 == 0o640
    disconnect(target, records)
    assert target.path.is_symlink() and real.read_text() == '{"a": 1}\n'


def test_a_file_that_another_program_changed_after_the_read_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text("{}")
    settings = files.read_settings(path)
    path.write_text('{"other": 1}')
    for change in (lambda: files.write_settings(settings, b"ours"), lambda: files.remove_settings(settings)):
        with pytest.raises(files.ChangedMeanwhile):
            change()
    assert path.read_text() == '{"other": 1}' and [entry.name for entry in tmp_path.iterdir()] == ["settings.json"]


def test_a_file_that_another_program_created_after_the_read_is_not_replaced(tmp_path: Path) -> None:
    settings = files.read_settings(tmp_path / "settings.json")
    assert settings.content is None and settings.text == ""
    (tmp_path / "settings.json").write_text("theirs")
    with pytest.raises(files.ChangedMeanwhile):
        files.write_settings(settings, b"ours")


def test_created_folders_are_returned_and_removed_unless_they_hold_other_files(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "settings.json"
    folders = files.write_settings(files.read_settings(path), b"{}")
    assert sorted(folders) == [tmp_path / "a", tmp_path / "a" / "b"]
    assert path.stat().st_mode & 0o777 == 0o600 and path.parent.stat().st_mode & 0o077 == 0
    (tmp_path / "a" / "other").touch()
    files.remove_settings(files.read_settings(path))
    files.remove_folders(folders)
    assert not (tmp_path / "a" / "b").exists() and (tmp_path / "a" / "other").exists()
