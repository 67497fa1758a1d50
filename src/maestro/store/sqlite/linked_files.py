"""Checks that the files that SQLite has open are still the files that the data directory names."""

from __future__ import annotations

import os
from pathlib import Path

from maestro.core import errors


class LinkedFiles:
    """The database and its write-ahead log, by device and inode as they were when the store was opened.

    SQLite goes on writing into a file that was removed or replaced. Such writes are lost with the last descriptor.
    """

    def __init__(self, database: Path) -> None:
        # An absolute path: the server's working directory moves along with a renamed data directory.
        self._database = str(database.absolute())
        self._log = f"{self._database}-wal"
        self._expected = self._identities()
        self._is_gone = False

    def require(self) -> None:
        """Refuse to go on once one of the files was removed or replaced, also when it comes back later."""
        found = self._identities()
        if self._is_gone or not found or found != self._expected:
            self._is_gone = True
            raise errors.StorageGone(
                f"{self._database} or its write-ahead log was removed or replaced while the server used it. "
                "The server stops.",
                hint="Put the data directory back, or restore a backup: maestro restore FILE",
            )

    def _identities(self) -> tuple[int, ...]:
        """Return device and inode of both files; nothing if one of them is not there."""
        try:
            # Not through `Path`: this runs for every batch of writes.
            database, log = os.stat(self._database), os.stat(self._log)  # noqa: PTH116
        except OSError:
            return ()
        return database.st_dev, database.st_ino, log.st_dev, log.st_ino
