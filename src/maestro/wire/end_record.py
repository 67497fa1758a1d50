"""The record of a session's end, in space that the runner reserves before the program starts.

A full disk cannot refuse a write into reserved space. So the end is stored even if neither the spool nor the database
can grow. The file has two slots, written in turn: after a torn write the previous record is still readable. A slot
holds the length and the checksum of a JSON object, then the object.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import zlib
from typing import Any

FILE_NAME = "end.record"
_SLOT_BYTES = 32 * 1024  # a tail of 4 KB takes up to 24 KB as JSON
_SLOTS = 2
_HEAD = b"%08x %08x\n"
_HEAD_BYTES = len(_HEAD % (0, 0))


class EndRecord:
    """The reserved file of one runner. The constructor raises OSError if the space cannot be reserved."""

    def __init__(self, folder: str) -> None:
        self._path = os.path.join(folder, FILE_NAME)
        self._number = 0
        self._lock = threading.RLock()  # a signal handler may write in the middle of another write
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            _reserve_space(self._file, _SLOTS * _SLOT_BYTES)
        except OSError:
            os.close(self._file)
            raise

    def write_report(self, report: dict[str, Any]) -> bool:
        """Store a report as the newest record; return whether the disk has the report."""
        with self._lock:
            self._number += 1
            try:
                _write_slot(self._file, self._number % _SLOTS, {**report, "record": self._number})
            except OSError:
                return False
        return True

    def remove(self) -> None:
        """Remove the file, after the server has stored the end."""
        with contextlib.suppress(OSError):
            os.unlink(self._path)


def read_record(folder: str | os.PathLike[str]) -> dict[str, Any] | None:
    """Return the newest whole record of a folder, or None."""
    try:
        with open(os.path.join(folder, FILE_NAME), "rb") as file:
            data = file.read(_SLOTS * _SLOT_BYTES)
    except OSError:
        return None
    slots = (data[at : at + _SLOT_BYTES] for at in range(0, len(data), _SLOT_BYTES))
    found = [record for slot in slots if (record := _decode_slot(slot)) is not None]
    return max(found, key=lambda record: int(record.pop("record", 0)), default=None)


def remove_record(folder: str | os.PathLike[str]) -> None:
    """Remove the record of a runner that is gone."""
    with contextlib.suppress(OSError):
        os.unlink(os.path.join(folder, FILE_NAME))


def _reserve_space(file: int, size: int) -> None:
    """Allocate the space, and make records of an earlier start unreadable."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file, 0, size)
        for slot in range(_SLOTS):
            os.pwrite(file, bytes(_HEAD_BYTES), slot * _SLOT_BYTES)
        return
    written = 0
    while written < size:
        written += os.pwrite(file, bytes(size - written), written)


def _write_slot(file: int, slot: int, report: dict[str, Any]) -> None:
    payload = json.dumps(report).encode()
    if _HEAD_BYTES + len(payload) > _SLOT_BYTES:
        payload = json.dumps({**report, "tail": "", "problem": str(report.get("problem", ""))[:1000]}).encode()
    data = _HEAD % (len(payload), zlib.crc32(payload)) + payload
    if os.pwrite(file, data, slot * _SLOT_BYTES) != len(data):
        raise OSError("the record was not written completely")
    os.fsync(file)


def _decode_slot(slot: bytes) -> dict[str, Any] | None:
    head, payload = slot[:_HEAD_BYTES], slot[_HEAD_BYTES:]
    try:
        length, checksum = (int(field, 16) for field in head.split())
        payload = payload[:length]
        if len(payload) != length or zlib.crc32(payload) != checksum:
            return None
        found = json.loads(payload)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
