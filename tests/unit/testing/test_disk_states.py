"""After a power loss a replayed disk always holds the flushed parts, and any other part may be missing."""

from __future__ import annotations

import random

from maestro.testing.disk_states import DiskRecord, DiskState, RecordKind, ReplayedDisk


def create(path: str, inode: int = 1) -> DiskRecord:
    return DiskRecord(RecordKind.CREATE, inode, 0, path, "", b"")


def write(path: str, data: bytes, *, offset: int = 0, inode: int = 1) -> DiskRecord:
    return DiskRecord(RecordKind.WRITE, inode, offset, path, "", data)


def flush(path: str, inode: int = 1) -> list[DiskRecord]:
    return [DiskRecord(kind, inode, 0, path, "", b"") for kind in (RecordKind.FLUSH_BEGIN, RecordKind.FLUSH_END)]


def states(*records: DiskRecord) -> list[DiskState]:
    disk, chance = ReplayedDisk(), random.Random(7)
    for record in records:
        disk.replay_record(record)
    return [disk.possible_state(chance) for _ in range(200)]


FOLDER = flush("", inode=9)


def test_a_flushed_file_in_a_flushed_folder_always_exists() -> None:
    found = states(create("/a"), write("/a", b"text"), *flush("/a"), *FOLDER)
    assert all(state == {"/a": b"text"} for state in found)


def test_a_flushed_file_in_an_unflushed_folder_may_be_missing() -> None:
    found = states(create("/a"), write("/a", b"text"), *flush("/a"))
    assert {state.get("/a") for state in found} == {None, b"text"}


def test_a_write_after_the_flush_may_be_lost_or_torn() -> None:
    old, new = b"o" * 1024, b"n" * 1024
    found = states(create("/a"), write("/a", old), *flush("/a"), *FOLDER, write("/a", new))
    contents = {state["/a"] for state in found}
    assert {old, new, old[:512] + new[512:], new[:512] + old[512:]} == contents


def test_a_write_during_a_flush_may_be_lost() -> None:
    begin, end = flush("/a")
    found = states(create("/a"), *FOLDER, begin, write("/a", b"late"), end)
    assert {state["/a"] for state in found} == {b"", b"late"}


def test_a_rename_before_the_flush_of_its_content_may_leave_an_empty_file() -> None:
    moved = DiskRecord(RecordKind.RENAME, 0, 0, "/part", "/a", b"")
    found = states(create("/part"), write("/part", b"text"), moved, *FOLDER)
    assert {state["/a"] for state in found} == {b"", b"text"}


def test_the_files_of_a_lost_folder_are_lost_too() -> None:
    folder = DiskRecord(RecordKind.MAKE_FOLDER, 0, 0, "/f", "", b"")
    found = states(folder, create("/f/a"), write("/f/a", b"x"), *flush("/f/a"), *flush("/f", inode=2))
    assert {tuple(sorted(state)) for state in found} == {(), ("/f", "/f/a")}
