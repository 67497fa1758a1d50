"""The mark beside the database: the sequence number of the last stored event, at most a second old.

A write-ahead log that was cut or lost leaves a database that is sound and too old. The mark shows the loss. The mark
is written only after the commit was flushed, so the mark is never ahead of a store that lost no event. The mark need
not be flushed: a mark that a power loss sets back is merely less exact.
"""

from __future__ import annotations

import logging
import os
import zlib
from pathlib import Path

log = logging.getLogger(__name__)


class Mark:
    """A small file with a sequence number and the number's checksum."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._has_failed = False

    def read(self) -> int | None:
        """Return the sequence number; None if the mark is missing or cannot be read."""
        try:
            record = self._file.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            log.warning("%s cannot be read: %s", self._file.name, error)
            return None
        number = record[:20]
        if not number.isdigit() or record != _encode_mark(int(number)):
            log.warning("%s cannot be read: its checksum does not match", self._file.name)
            return None
        return int(number)

    def write(self, seq: int) -> None:
        """Write the sequence number in place. One short write leaves the old number or the new one."""
        try:
            descriptor = os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                os.pwrite(descriptor, _encode_mark(seq), 0)
                os.ftruncate(descriptor, len(_encode_mark(seq)))
            finally:
                os.close(descriptor)
        except OSError as error:
            if not self._has_failed:  # warn once: a full disk may last for hours
                log.warning("%s cannot be written: %s", self._file.name, error)
            self._has_failed = True
        else:
            self._has_failed = False


def _encode_mark(seq: int) -> bytes:
    """Return the content of a mark. All marks have the same length: an update needs no new space on a full disk."""
    number = b"%020d" % seq
    return b"%s %08x\n" % (number, zlib.crc32(number))
