"""The newest complete record of a session's end is read, and a torn write does not damage the record before it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from maestro.wire import end_record
from maestro.wire.end_record import EndRecord


def test_the_newest_end_record_is_read(tmp_path: Path) -> None:
    record = EndRecord(str(tmp_path))
    assert end_record.read_record(tmp_path) is None
    for code in (None, 5, 7):
        assert record.write_report({"kind": "exited", "code": code})
        assert end_record.read_record(tmp_path) == {"kind": "exited", "code": code}


@pytest.mark.parametrize("cut", [1, 20, 40])
def test_after_a_torn_write_the_previous_record_is_read(tmp_path: Path, cut: int) -> None:
    record = EndRecord(str(tmp_path))
    record.write_report({"code": 5, "tail": "first"})  # goes into the second slot
    record.write_report({"code": 5, "tail": "second, which is torn"})  # goes into the first slot
    file = tmp_path / end_record.FILE_NAME
    data = file.read_bytes()
    end = data.index(b"}") + 1
    file.write_bytes(data[: end - cut] + bytes(cut) + data[end:])
    assert end_record.read_record(tmp_path) == {"code": 5, "tail": "first"}


def test_a_short_or_damaged_file_is_not_read_as_a_record(tmp_path: Path) -> None:
    file = tmp_path / end_record.FILE_NAME
    for data in (b"", b"x", b"00000005 00000000\n", os.urandom(70_000), b"[" * 70_000, b"ffffffff ffffffff\n{}"):
        file.write_bytes(data)
        assert end_record.read_record(tmp_path) is None


def test_a_record_that_does_not_fit_is_stored_without_its_tail(tmp_path: Path) -> None:
    record = EndRecord(str(tmp_path))
    assert record.write_report({"code": 5, "tail": "\x00" * 10_000})
    assert end_record.read_record(tmp_path) == {"code": 5, "tail": "", "problem": ""}


def test_a_new_end_record_hides_the_record_of_the_previous_start(tmp_path: Path) -> None:
    EndRecord(str(tmp_path)).write_report({"code": 5})
    EndRecord(str(tmp_path))
    assert end_record.read_record(tmp_path) is None


def test_a_removed_record_is_not_read(tmp_path: Path) -> None:
    record = EndRecord(str(tmp_path))
    record.write_report({"code": 5})
    record.remove()
    assert end_record.read_record(tmp_path) is None
    end_record.remove_record(tmp_path)
