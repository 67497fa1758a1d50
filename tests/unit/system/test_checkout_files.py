"""Files below a folder that agents can write are read and written without following symbolic links."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from maestro.core.errors import Invalid
from maestro.system import checkout_files


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """Return the folder of a checkout."""
    folder = tmp_path / "top"
    folder.mkdir()
    return folder


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """Return a folder outside the checkout, with a file of the person."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "file").write_text("the person's own")
    return folder


def names_in(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def read(top: Path, name: str) -> bytes | None:
    return checkout_files.read_file(str(top), name, bytes_max=100)


def test_a_written_file_is_read_back_and_its_folders_are_created(top: Path) -> None:
    checkout_files.write_file(str(top), "a/b/file", b"text")
    assert read(top, "a/b/file") == b"text" and names_in(top / "a" / "b") == ["file"]


def test_a_read_returns_at_most_the_given_number_of_bytes(top: Path) -> None:
    (top / "file").write_bytes(b"0123456789")
    assert checkout_files.read_file(str(top), "file", bytes_max=4) == b"0123"


@pytest.mark.parametrize("name", ["missing", "missing/file"])
def test_reading_a_missing_file_returns_none_and_creates_no_folder(top: Path, name: str) -> None:
    assert read(top, name) is None
    assert names_in(top) == []


def test_a_replaced_file_keeps_its_mode(top: Path) -> None:
    (top / "script").write_text("old")
    (top / "script").chmod(0o750)
    checkout_files.write_file(str(top), "script", b"new")
    assert mode_of(top / "script") == 0o750 and names_in(top) == ["script"]


@pytest.mark.parametrize("umask", [0o022, 0o077])
def test_the_umask_limits_the_modes_of_new_files_and_folders(top: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        checkout_files.write_file(str(top), "sub/file", b"x")
    finally:
        os.umask(before)
    assert mode_of(top / "sub" / "file") == 0o644 & ~umask
    assert mode_of(top / "sub") == 0o777 & ~umask


def test_an_existing_folder_keeps_its_mode(top: Path) -> None:
    (top / "sub").mkdir(mode=0o700)
    checkout_files.write_file(str(top), "sub/file", b"x")
    assert mode_of(top / "sub") == 0o700


def test_a_link_in_the_place_of_a_file_is_neither_read_nor_replaced(top: Path, elsewhere: Path) -> None:
    (top / "file").symlink_to(elsewhere / "file")
    with pytest.raises(Invalid, match="symbolic link"):
        read(top, "file")
    with pytest.raises(Invalid, match="symbolic link"):
        checkout_files.write_file(str(top), "file", b"x")
    assert (top / "file").is_symlink() and (elsewhere / "file").read_text() == "the person's own"


def test_a_link_in_the_place_of_a_folder_is_refused(top: Path, elsewhere: Path) -> None:
    (top / "sub").symlink_to(elsewhere)
    with pytest.raises(Invalid, match="sub is a symbolic link"):
        read(top, "sub/file")
    with pytest.raises(Invalid, match="sub is a symbolic link"):
        checkout_files.write_file(str(top), "sub/file", b"x")
    assert names_in(elsewhere) == ["file"]


def test_a_link_without_a_target_is_refused(top: Path) -> None:
    (top / "file").symlink_to(top / "nowhere")
    with pytest.raises(Invalid, match="symbolic link"):
        read(top, "file")


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir], ids=["a pipe", "a folder"])
def test_a_pipe_or_folder_in_the_place_of_a_file_is_refused_at_once(top: Path, make) -> None:
    make(top / "file")
    with pytest.raises(Invalid, match="not a regular file"):
        read(top, "file")
    with pytest.raises(Invalid, match="not a regular file"):
        checkout_files.write_file(str(top), "file", b"x")


def test_a_write_fails_when_a_file_is_in_the_place_of_a_folder(top: Path) -> None:
    (top / "sub").write_text("")
    with pytest.raises(NotADirectoryError):
        checkout_files.write_file(str(top), "sub/file", b"x")


def test_a_folder_that_becomes_a_link_during_a_write_does_not_redirect_the_write(top: Path, elsewhere: Path) -> None:
    (top / "sub").mkdir()
    with checkout_files.open_folder(str(top), "sub") as folder:
        (top / "sub").rename(top / "moved")
        (top / "sub").symlink_to(elsewhere)
        os.close(os.open("new", os.O_WRONLY | os.O_CREAT | os.O_EXCL, dir_fd=folder))
    assert names_in(elsewhere) == ["file"] and names_in(top / "moved") == ["new"]


@pytest.mark.parametrize("name", ["../out", "sub/../../out", "/out"])
def test_a_path_to_a_file_outside_the_folder_is_refused(top: Path, name: str) -> None:
    with pytest.raises(Invalid):
        checkout_files.write_file(str(top), name, b"x")
    assert not (top.parent / "out").exists()


def test_no_descriptor_stays_open_after_a_refusal(top: Path, elsewhere: Path) -> None:
    (top / "a").mkdir()
    (top / "a" / "sub").symlink_to(elsewhere)
    before = len(list(Path("/dev/fd").iterdir()))
    for _ in range(5):
        with pytest.raises(Invalid):
            read(top, "a/sub/file")
    assert len(list(Path("/dev/fd").iterdir())) == before
