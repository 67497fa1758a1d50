"""Compute the states that a disk may hold after a power loss, from a log of writes and flushes (disk_recorder.c).

A write is safe once a flush of its file that began after the write has ended. A name (created, moved or removed) is
safe once its folder was flushed. Of everything else a disk may have kept any part: whole operations, or sectors.
"""

from __future__ import annotations

import enum
import random
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

_HEAD = struct.Struct("<IIQQIIII")
_MAGIC = 0x4B534944
SECTOR_BYTES = 512


class RecordKind(enum.IntEnum):
    """The kind of a record: those of disk_recorder.c, and marks of the test."""

    CREATE = 1
    WRITE = 2
    TRUNCATE = 3
    FLUSH_BEGIN = 4
    FLUSH_END = 5
    RENAME = 6
    REMOVE = 7
    MAKE_FOLDER = 8
    MARK = 9


@dataclass(frozen=True)
class DiskRecord:
    """One operation; paths begin with a slash and are relative to the data directory."""

    kind: RecordKind
    inode: int
    offset: int
    path: str
    other: str
    data: bytes


def add_mark(log: Path, data: bytes) -> None:
    """Append a mark of the test to the log. All earlier records happened before the mark."""
    with log.open("ab", buffering=0) as file:
        file.write(_HEAD.pack(_MAGIC, RecordKind.MARK, 0, 0, 0, 0, len(data), 0) + data)


def read_log(log: Path) -> Iterator[DiskRecord]:
    """Yield every record in its order."""
    data = memoryview(log.read_bytes())
    position = 0
    while position < len(data):
        magic, kind, inode, offset, path, other, size, _ = _HEAD.unpack_from(data, position)
        assert magic == _MAGIC, f"the log is damaged at {position}"
        position += _HEAD.size
        ends = [position + path, position + path + other, position + path + other + size]
        texts = bytes(data[position : ends[0]]).decode(), bytes(data[ends[0] : ends[1]]).decode()
        yield DiskRecord(RecordKind(kind), inode, offset, *texts, bytes(data[ends[1] : ends[2]]))
        position = ends[2]


@dataclass
class File:
    """A file or a folder: its safe content, and the operations since the last flush."""

    safe: bytearray = field(default_factory=bytearray)
    pending: list[DiskRecord] = field(default_factory=list)
    flushing: int = 0  # the number of pending operations that the running flush covers
    is_folder: bool = False


Names = dict[str, File]
DiskState = dict[str, bytes | None]  # files with their contents, and folders


@dataclass
class _Change:
    """A change of a name that no flush of its folder has made safe yet."""

    record: DiskRecord
    file: File | None
    is_flushing: bool = False

    @property
    def folder(self) -> str:
        """Return the folder whose flush makes the change safe: the folder of the new name."""
        return _parent_folder(self.record.other or self.record.path)

    def apply(self, names: Names) -> None:
        record = self.record
        if self.file is not None:
            names[record.path] = self.file
        elif record.kind is RecordKind.REMOVE:
            names.pop(record.path, None)
        else:  # a file, or a folder with its content
            for path in [path for path in names if path == record.path or path.startswith(f"{record.path}/")]:
                names[record.other + path.removeprefix(record.path)] = names.pop(path)


class ReplayedDisk:
    """Replays records, and computes at any time a state that the disk may hold."""

    def __init__(self, start: dict[str, bytes] | None = None) -> None:
        self._safe_names: Names = {}
        for path, data in (start or {}).items():
            self._safe_names[path] = File(bytearray(data))
            while (path := _parent_folder(path)) != "":
                self._safe_names[path] = File(is_folder=True)
        self._names = dict(self._safe_names)
        self._inodes: dict[int, File] = {}
        self._changes: list[_Change] = []

    def replay_record(self, record: DiskRecord) -> None:
        """Replay one record."""
        if record.kind in (RecordKind.CREATE, RecordKind.RENAME, RecordKind.REMOVE, RecordKind.MAKE_FOLDER):
            self._change_names(record)
        elif record.kind in (RecordKind.WRITE, RecordKind.TRUNCATE):
            self._file_of(record).pending.append(record)
        elif record.kind is RecordKind.FLUSH_BEGIN:
            self._begin_flush(record)
        elif record.kind is RecordKind.FLUSH_END:
            self._end_flush(record)

    def _file_of(self, record: DiskRecord) -> File:
        if record.inode not in self._inodes:
            # A file that no recorded process created has a name only if it existed at the start.
            self._inodes[record.inode] = self._names.get(record.path) or File()
        return self._inodes[record.inode]

    def _is_folder(self, path: str) -> bool:
        return path == "" or (path in self._names and self._names[path].is_folder)

    def _change_names(self, record: DiskRecord) -> None:
        file = None
        if record.kind in (RecordKind.CREATE, RecordKind.MAKE_FOLDER):
            file = File(is_folder=record.kind is RecordKind.MAKE_FOLDER)
            self._inodes[record.inode] = file
        change = _Change(record, file)
        change.apply(self._names)
        self._changes.append(change)

    def _begin_flush(self, record: DiskRecord) -> None:
        if not self._is_folder(record.path):
            file = self._file_of(record)
            file.flushing = len(file.pending)
        for change in self._changes:
            change.is_flushing = change.is_flushing or change.folder == record.path

    def _end_flush(self, record: DiskRecord) -> None:
        if self._is_folder(record.path):
            for change in self._changes:
                if change.is_flushing and change.folder == record.path:
                    change.apply(self._safe_names)
            self._changes = [
                change for change in self._changes if not (change.is_flushing and change.folder == record.path)
            ]
            return
        file = self._file_of(record)
        for done in file.pending[: file.flushing]:
            _apply_record(file.safe, done)
        del file.pending[: file.flushing]
        file.flushing = 0

    def possible_state(self, chance: random.Random) -> DiskState:
        """Return a state that the disk may hold now: every safe part, and a random part of the rest."""
        names = dict(self._safe_names)
        for change in self._kept_changes(chance):
            change.apply(names)
        policy = chance.choice(["all", "none", "operations", "operations", "sectors", "sectors"])
        return {
            path: None if file.is_folder else bytes(_kept_content(file, policy, chance))
            for path, file in names.items()
            if _has_folders(path, names)
        }

    def _kept_changes(self, chance: random.Random) -> list[_Change]:
        """Return a random prefix or a random subset of the pending changes of names."""
        if chance.random() < 0.5:
            return self._changes[: chance.randint(0, len(self._changes))]
        return [change for change in self._changes if chance.random() < 0.5]


def _parent_folder(path: str) -> str:
    return path.rpartition("/")[0]


def _has_folders(path: str, names: Names) -> bool:
    """Return whether every folder above a file exists: the files of a lost folder are lost too."""
    while (path := _parent_folder(path)) != "":
        if path not in names:
            return False
    return True


def _kept_content(file: File, policy: str, chance: random.Random) -> bytearray:
    content = bytearray(file.safe)
    for record in file.pending:
        if policy == "all" or (policy == "operations" and chance.random() < 0.5):
            _apply_record(content, record)
        elif policy == "sectors":
            for part in _split_sectors(record):
                if chance.random() < 0.5:
                    _apply_record(content, part)
    return content


def _split_sectors(record: DiskRecord) -> list[DiskRecord]:
    if record.kind is not RecordKind.WRITE:
        return [record]
    size = SECTOR_BYTES
    return [
        DiskRecord(
            record.kind, record.inode, record.offset + start, record.path, "", record.data[start : start + size]
        )
        for start in range(0, len(record.data), size)
    ]


def _apply_record(content: bytearray, record: DiskRecord) -> None:
    if record.kind is RecordKind.TRUNCATE:
        del content[record.offset :]
        content.extend(bytes(record.offset - len(content)))
        return
    content.extend(bytes(max(0, record.offset - len(content))))
    content[record.offset : record.offset + len(record.data)] = record.data
