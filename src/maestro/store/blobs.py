"""Large contents as files beside the database, named by what is in them.

A file is written and flushed before the row that names it commits, so a row never names what is not there.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from maestro import errors, limits
from maestro.domain.documents import Content


class Blobs:
    """A folder of content-addressed files."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def keep(self, data: bytes) -> Content:
        """Small contents stay in their row; larger ones become a file."""
        digest = hashlib.sha256(data).hexdigest()
        if len(data) <= limits.inline_bytes_max:
            return Content(data, None, len(data), digest)
        try:
            self._write(digest, data)
        except OSError as error:
            raise errors.storage_fault(error, "The content cannot be stored") from error
        return Content(None, digest, len(data), digest)

    def load(self, content: Content) -> bytes:
        if content.blob is not None:
            return self._file(content.blob).read_bytes()
        return content.body or b""

    def all(self) -> list[Path]:
        """Every file there is, for backups and for clearing out what no row names."""
        return sorted(file for file in self._root.glob("??/*") if not file.name.startswith("."))

    def _file(self, digest: str) -> Path:
        return self._root / digest[:2] / digest

    def _write(self, digest: str, data: bytes) -> None:
        target = self._file(digest)
        try:
            os.utime(target)  # young again, so that nobody takes it for a stray before its row is there
            return
        except FileNotFoundError:
            target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        part = target.with_name(f".{digest}.{os.getpid()}.{os.urandom(4).hex()}")
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            part.rename(target)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
        _flush_folder(target.parent)
        _flush_folder(self._root)
        _flush_folder(self._root.parent)


def _flush_folder(folder: Path) -> None:
    """A new name is durable once its folder is flushed."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
