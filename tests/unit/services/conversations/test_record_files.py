"""`read_record` reads a part of a record file, and only from the folders of the tool."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from maestro.core import limits
from maestro.services.conversations.record_files import RecordPiece, is_same_record, read_record
from maestro.wire.runner_folder import EARLIER_SESSIONS, SESSIONS


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Create the folder of a tool and return it."""
    folder = tmp_path / "tool"
    folder.mkdir()
    return folder


async def read(path: Path, folder: Path, *, start: int | None = 0) -> RecordPiece | None:
    return await read_record(str(path), ("/elsewhere", str(folder)), start=start)


async def test_a_record_is_read_from_the_given_start(folder: Path) -> None:
    record = folder / "c1.jsonl"
    record.write_text("first\nsecond\n")
    assert await read(record, folder) == RecordPiece(b"first\nsecond\n", 0, 13)
    assert await read(record, folder, start=6) == RecordPiece(b"second\n", 6, 13)
    assert await read(record, folder, start=13) == RecordPiece(b"", 13, 13)


async def test_a_read_without_a_start_returns_only_the_size(folder: Path) -> None:
    record = folder / "c1.jsonl"
    record.write_text("first\n")
    assert await read(record, folder, start=None) == RecordPiece(b"", 6, 6)


async def test_a_record_that_became_shorter_is_read_from_the_beginning(folder: Path) -> None:
    record = folder / "c1.jsonl"
    record.write_text("new\n")
    assert await read(record, folder, start=100) == RecordPiece(b"new\n", 0, 4)


async def test_a_long_record_is_read_in_pieces(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "transcript_bytes_max", 4)
    record = folder / "c1.jsonl"
    record.write_text("abcdefgh")
    assert await read(record, folder, start=2) == RecordPiece(b"cdef", 2, 8)


async def test_a_file_outside_the_folders_of_the_tool_is_not_read(folder: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    (folder / "link").symlink_to(secret)
    (tmp_path / "tool-other").mkdir()
    (tmp_path / "tool-other" / "c1.jsonl").write_text("x")
    for path in (secret, folder / "link", folder / ".." / "secret", tmp_path / "tool-other" / "c1.jsonl", folder):
        assert await read(path, folder) is None


async def test_a_missing_file_and_a_pipe_are_not_read(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    for path in (folder / "missing", folder / "pipe", folder / "a\0b"):
        assert await read(path, folder) is None


@pytest.mark.parametrize("has_link", [True, False])
async def test_a_path_below_the_earlier_folder_of_sessions_names_the_record_of_the_session(
    tmp_path: Path, has_link: bool
) -> None:
    folder = tmp_path / SESSIONS / "ses_one"
    folder.mkdir(parents=True)
    (folder / "c1.jsonl").write_text("first\n")
    if has_link:
        (tmp_path / EARLIER_SESSIONS).symlink_to(SESSIONS)
    earlier, present = tmp_path / EARLIER_SESSIONS / "ses_one" / "c1.jsonl", folder / "c1.jsonl"
    assert await read(earlier, folder) == RecordPiece(b"first\n", 0, 6)
    for known, reported in ((earlier, present), (present, earlier)):
        assert await is_same_record(str(known), str(reported), (str(folder),))
    other = tmp_path / EARLIER_SESSIONS / "ses_one" / "c2.jsonl"
    assert not await is_same_record(str(other), str(present), (str(folder),))


async def test_a_path_below_the_earlier_folder_does_not_lead_out_of_the_folder_of_the_session(tmp_path: Path) -> None:
    folder = tmp_path / SESSIONS / "ses_one"
    folder.mkdir(parents=True)
    (tmp_path / SESSIONS / "secret").write_text("secret")
    assert await read(tmp_path / EARLIER_SESSIONS / "ses_one" / ".." / "secret", folder) is None
