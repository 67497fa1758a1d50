"""Check that SQLite's open files are still the database files of the data directory."""

from __future__ import annotations

import os
from pathlib import Path

from maestro.core import errors


class LinkedFiles:
    """The device and inode of the database and of its write-ahead log, as they were when the store was opened.

    SQLite goes on writing into a removed or replaced file. The writes are lost when the last descriptor is closed.
    """

    def __init__(self, database: Path) -> None:
        # An absolute path: the server's working directory moves along with a renamed data directory.
        self._database = str(database.absolute())
        self._log = f"{self._database}-wal"
        self._expected = self._identities()
        self._is_gone = False

    def require_unchanged(self) -> None:
        """Refuse to go on after one of the files was removed or replaced, even if the file comes back later."""
        present = self._identities()
        if self._is_gone or not present or present != self._expected:
            self._is_gone = True
            raise errors.StorageGone(
                f"{self._database} or its write-ahead log was removed or replaced while the server used it. "
                "The server stops.",
                hint="Put the data directory back, or restore a backup: maestro restore FILE",
            )

    def _identities(self) -> tuple[int, ...]:
        """Return device and inode of both files; an empty tuple if a file is missing."""
        try:
            # Not through `Path`: this runs for every batch of writes.
            database, log = os.stat(self._database), os.stat(self._log)  # noqa: PTH116
        except OSError:
            return ()
        return database.st_dev, database.st_ino, log.st_dev, log.st_ino
