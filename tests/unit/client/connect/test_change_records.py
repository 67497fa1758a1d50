"""Records of changed settings files are stored privately, and a damaged record is treated as missing."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from maestro.client.connect.change_records import ConnectRecord, ConnectRecords, digest_content

PATH = Path("/home/dana/.gemini/settings.json")


def make_record(path: Path = PATH, **fields: object) -> ConnectRecord:
    return ConnectRecord(tool="gemini", scope="user", path=str(path), before=None, after="x", **fields)  # type: ignore[arg-type]


def test_a_saved_record_is_found_by_the_path_of_its_file(records: ConnectRecords) -> None:
    saved = make_record(mcp={"command": "maestro"}, tables=[["a", "b"]], folders=["/x"])
    records.save_record(saved)
    found = records.find_record(PATH)
    assert found == saved and found.at > 0
    assert records.find_record(PATH.with_name("other.json")) is None


def test_files_of_the_same_name_have_separate_records(records: ConnectRecords) -> None:
    other = Path("/work/.gemini/settings.json")
    records.save_record(make_record())
    records.save_record(make_record(other))
    records.delete_record(make_record())
    assert records.find_record(PATH) is None and records.find_record(other) is not None


def test_records_are_listed_by_tool(records: ConnectRecords) -> None:
    assert records.records_of_tool("gemini") == []
    records.save_record(make_record())
    assert [record.path for record in records.records_of_tool("gemini")] == [str(PATH)]
    assert records.records_of_tool("codex") == []


def test_equal_content_is_copied_once_and_is_read_back_from_its_copy(records: ConnectRecords, tmp_path: Path) -> None:
    first = records.copy_content(PATH, b"one")
    assert records.copy_content(PATH, b"one") == first != records.copy_content(PATH, b"two")
    record = make_record()
    record.before = first
    assert records.content_before(record) == b"one" and records.content_before(make_record()) is None
    assert len(list((tmp_path / "data" / "connect").iterdir())) == 2


def test_other_users_have_no_access_to_records_and_copies(records: ConnectRecords, tmp_path: Path) -> None:
    records.copy_content(PATH, b"key")
    records.save_record(make_record())
    folder = tmp_path / "data" / "connect"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()} == {0o600}


@pytest.mark.parametrize("content", ["", "{", "[]", '{"tool": "gemini"}', '{"unknown": 1}'])
def test_a_damaged_record_is_treated_as_missing(records: ConnectRecords, tmp_path: Path, content: str) -> None:
    records.save_record(make_record())
    (file,) = (tmp_path / "data" / "connect").iterdir()
    file.write_text(content)
    assert records.find_record(PATH) is None and records.records_of_tool("gemini") == []


def test_a_missing_file_and_an_empty_file_have_different_digests() -> None:
    assert digest_content(None) == "" != digest_content(b"")
