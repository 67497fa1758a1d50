"""The record of a worktree in its git directory is read as it was written. A broken record counts as empty."""

from __future__ import annotations

import os

import pytest

from maestro.core import limits
from maestro.git.worktrees import records


def test_a_record_is_read_as_it_was_written(tmp_path):
    name = os.fsdecode(b"caf\xe9")
    record = records.WorktreeRecord(base="abc", copied={name: "1"}, made={"b": "2"})
    records.write_record(str(tmp_path), record)
    assert records.read_record(str(tmp_path)) == record


@pytest.mark.parametrize("content", [None, b"", b"{", b'{"base": 3}', b"[" * 100_000, b"\xff"])
def test_a_missing_or_broken_record_is_an_empty_record(tmp_path, content):
    if content is not None:
        (tmp_path / "maestro.json").write_bytes(content)
    assert records.read_record(str(tmp_path)) == records.WorktreeRecord()


def test_a_record_over_the_limit_is_an_empty_record(tmp_path, monkeypatch):
    records.write_record(str(tmp_path), records.WorktreeRecord(base="abc"))
    monkeypatch.setattr(limits, "worktree_record_bytes_max", 10)
    assert records.read_record(str(tmp_path)) == records.WorktreeRecord()


def test_only_a_plain_file_has_a_hash(tmp_path):
    (tmp_path / "file").write_text("text")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    os.mkfifo(tmp_path / "pipe")
    assert records.hash_plain_file(str(tmp_path / "file")).startswith("982d9e3eb996f559e633f4d194def376")
    for name in ("link", "pipe", "missing", "."):
        assert records.hash_plain_file(str(tmp_path / name)) == ""
