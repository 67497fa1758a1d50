"""Small files are read without waiting, and Maestro's own files are written privately and completely."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from maestro.system import small_files


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_at_most_the_first_64_kib_of_a_file_are_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x" * 100_000)
    assert small_files.read_small(str(tmp_path / "file")) == b"x" * 64 * 1024
    (tmp_path / "link").symlink_to("file")
    assert small_files.read_small(str(tmp_path / "link"))


@pytest.mark.parametrize("make", [lambda path: None, os.mkfifo, os.mkdir], ids=["nothing", "a pipe", "a folder"])
def test_reading_a_missing_path_a_pipe_or_a_folder_returns_none_at_once(tmp_path: Path, make) -> None:
    make(tmp_path / "path")
    assert small_files.read_small(str(tmp_path / "path")) is None


@pytest.mark.parametrize("write", [small_files.write_private, small_files.write_durably])
def test_a_new_file_is_closed_to_other_users(tmp_path: Path, write) -> None:
    write(tmp_path / "file", "tëxt")
    assert (tmp_path / "file").read_text(encoding="utf-8") == "tëxt"
    assert mode_of(tmp_path / "file") == 0o600
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("write", [small_files.write_private, small_files.write_durably])
def test_a_shorter_text_replaces_the_whole_file(tmp_path: Path, write) -> None:
    write(tmp_path / "file", "a long text")
    write(tmp_path / "file", "new")
    assert (tmp_path / "file").read_text() == "new"


def test_a_durable_write_creates_a_new_file_in_the_place_of_the_old_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("before")
    with (tmp_path / "file").open() as reader:
        small_files.write_durably(tmp_path / "file", "after")
        assert reader.read() == "before"
    assert (tmp_path / "file").read_text() == "after"


def test_a_durable_write_accepts_a_name_in_the_present_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    small_files.write_durably("file", "text")
    assert (tmp_path / "file").read_text() == "text"


def test_a_durable_write_to_an_absolute_path_works_in_a_removed_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "removed").mkdir()
    monkeypatch.chdir(tmp_path / "removed")
    (tmp_path / "removed").rmdir()
    small_files.write_durably(tmp_path / "file", "text")
    assert (tmp_path / "file").read_text() == "text"


def test_a_failed_durable_write_leaves_no_temporary_file(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(OSError):
        small_files.write_durably(tmp_path / "taken", "text")
    with pytest.raises(UnicodeEncodeError):
        small_files.write_durably(tmp_path / "other", "\ud800")
    assert [entry.name for entry in tmp_path.iterdir()] == ["taken"]


def test_a_missing_folder_cannot_be_flushed(tmp_path: Path) -> None:
    small_files.flush_folder(tmp_path)
    with pytest.raises(FileNotFoundError):
        small_files.flush_folder(tmp_path / "missing")
