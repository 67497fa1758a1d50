"""Checks that the files that SQLite has open are still the files that the data directory names."""

from __future__ import annotations

import os
from pathlib import Path

from maestro import errors

_Identity = tuple[int, int]  # device and inode


class LinkedFiles:
    """The database and its write-ahead log, by device and inode as they were when the store was opened.

    SQLite goes on writing into a file that was removed or replaced. Such writes are lost with the last descriptor.
    """

    def __init__(self, database: Path) -> None:
        path = str(database.absolute())  # the server's working directory moves along with a renamed data directory
        self._expected = {name: _identity(name) for name in (path, f"{path}-wal")}

        self._gone: str | None = None

    def require(self) -> None:
        """Refuse to go on once one of the files was removed or replaced, also when it comes back later."""
        for name, expected in self._expected.items():
            if _identity(name) != expected:
                self._gone = name
        if self._gone is not None:
            raise errors.StorageGone(
                f"{self._gone} was removed or replaced while the server used it. The server stops.",
                hint="Put the data directory back, or restore a backup: maestro restore FILE",
            )


def _identity(name: str) -> _Identity | None:
    try:
        found = os.stat(name)  # noqa: PTH116 (runs once for every batch of writes)
    except OSError:
        return None
    return found.st_dev, found.st_ino
