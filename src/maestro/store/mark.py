"""The mark beside the database: the sequence number of the last stored event, at most a second old.

A write-ahead log that was cut or lost leaves a database that is sound and too old. The mark shows that. It is written
only after the commit was flushed, so the mark is never ahead of a store that lost nothing. It need not be flushed
itself: a mark that a power loss sets back is merely less exact.
"""

from __future__ import annotations

import logging
import os
import zlib
from pathlib import Path

log = logging.getLogger(__name__)


class Mark:
    """One small file: a sequence number and its checksum."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._has_failed = False

    def read(self) -> int | None:
        """Return the sequence number; None where there is no mark, or none that can be read."""
        try:
            record = self._file.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            log.warning("%s cannot be read: %s", self._file.name, error)
            return None
        number = record[:20]
        if not number.isdigit() or record != _record(int(number)):
            log.warning("%s cannot be read: its checksum does not match", self._file.name)
            return None
        return int(number)

    def write(self, seq: int) -> None:
        """Write the sequence number in place. One short write leaves the old number or the new one."""
        try:
            descriptor = os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                os.pwrite(descriptor, _record(seq), 0)
                os.ftruncate(descriptor, len(_record(seq)))
            finally:
                os.close(descriptor)
        except OSError as error:
            if not self._has_failed:  # once: a full disk may last for hours
                log.warning("%s cannot be written: %s", self._file.name, error)
            self._has_failed = True
        else:
            self._has_failed = False


def _record(seq: int) -> bytes:
    """Return the content of a mark. Its length is always the same, so that it needs no new space on a full disk."""
    number = b"%020d" % seq
    return b"%s %08x\n" % (number, zlib.crc32(number))
