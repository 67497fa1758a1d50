"""The record of a session's end, in space that its runner reserves before the program starts.

A full disk cannot refuse a write into reserved space, so the end is known also when neither a spool nor the database
takes anything. The file has two slots, which are written in turn: a torn write leaves the record before it readable.
A slot holds the length and the checksum of a JSON object, then the object.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import zlib
from typing import Any

FILE = "end.record"
_SLOT_BYTES = 32 * 1024  # a tail of 4 KB takes up to 24 KB as JSON
_SLOTS = 2
_HEAD = b"%08x %08x\n"
_HEAD_BYTES = len(_HEAD % (0, 0))


class EndRecord:
    """The reserved file of one runner. OSError if the space cannot be reserved."""

    def __init__(self, folder: str) -> None:
        self._path = os.path.join(folder, FILE)
        self._number = 0
        self._one_at_a_time = threading.RLock()  # a signal may ask for a write in the middle of another
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            _reserve(self._file, _SLOTS * _SLOT_BYTES)
        except OSError:
            os.close(self._file)
            raise

    def write(self, report: dict[str, Any]) -> bool:
        """Store a report, newer than those before it; return whether the disk has it."""
        with self._one_at_a_time:
            self._number += 1
            try:
                _write_slot(self._file, self._number % _SLOTS, {**report, "record": self._number})
            except OSError:
                return False
        return True

    def remove(self) -> None:
        """Give the space back: the server has stored the end."""
        with contextlib.suppress(OSError):
            os.unlink(self._path)


def read(folder: str | os.PathLike[str]) -> dict[str, Any] | None:
    """Return the newest whole record of a folder, or None."""
    try:
        with open(os.path.join(folder, FILE), "rb") as file:
            data = file.read(_SLOTS * _SLOT_BYTES)
    except OSError:
        return None
    slots = (data[at : at + _SLOT_BYTES] for at in range(0, len(data), _SLOT_BYTES))
    found = [record for slot in slots if (record := _decode(slot)) is not None]
    return max(found, key=lambda record: int(record.pop("record", 0)), default=None)


def remove(folder: str | os.PathLike[str]) -> None:
    """Remove the record of a runner that is gone."""
    with contextlib.suppress(OSError):
        os.unlink(os.path.join(folder, FILE))


def _reserve(file: int, size: int) -> None:
    """Allocate the space. Nothing of an earlier start stays readable."""
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
        raise OSError("the reserved space was not there")
    os.fsync(file)


def _decode(slot: bytes) -> dict[str, Any] | None:
    head, payload = slot[:_HEAD_BYTES], slot[_HEAD_BYTES:]
    try:
        length, checksum = (int(word, 16) for word in head.split())
        payload = payload[:length]
        if len(payload) != length or zlib.crc32(payload) != checksum:
            return None
        found = json.loads(payload)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
