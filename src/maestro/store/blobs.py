"""Large contents as files beside the database. The name of a file is the SHA-256 of its content.

A file is written and flushed before the commit of the row that names the file, so a row never names a missing file. A
disk or a person may still change a file later: the content is checked against the name before a caller gets it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from maestro.core import errors, limits
from maestro.domain.documents import StoredContent
from maestro.store.content_holds import FileHold, FileHolds

_FileState = tuple[int, int]  # size and time of the last change


class Blobs:
    """A folder of content-addressed files."""

    def __init__(self, root: Path) -> None:
        self._root = root
        # The state in which each file was last found sound. A file in another state is hashed again.
        self._verified: dict[str, _FileState] = {}
        self._copies = 0
        self._holds = FileHolds()

    def new_hold(self) -> FileHold:
        """Return a hold for the files of a request. Files stored through it stay until its `with` block ends."""
        return FileHold(self._holds, lambda data, hold: self.store_content(data, hold=hold))

    def store_content(self, data: bytes, *, hold: FileHold | None = None) -> StoredContent:
        """Return a content to be stored in a row. A large content is written to a file first."""
        digest = hashlib.sha256(data).hexdigest()
        if len(data) <= limits.inline_bytes_max:
            return StoredContent(data, None, len(data), digest)
        if hold is not None:
            hold.hold_file(digest)
        try:
            self._write_file(digest, data)
        except OSError as error:
            raise errors.storage_fault(error, "The content cannot be stored") from error
        return StoredContent(None, digest, len(data), digest)

    def load_content(self, content: StoredContent) -> bytes:
        """Return the bytes of a content. Refuse a missing file and a file that does not match its name."""
        if content.blob is None:
            return _verified_body(content)
        data = self.read_file(content.blob)
        if content.size and content.size != len(data):
            raise _damaged_error(content.blob)
        return data

    def read_file(self, digest: str) -> bytes:
        """Return the content of a file. Hash the content unless the file is unchanged since its last check."""
        try:
            with self.path_of(digest).open("rb") as file:
                status = os.fstat(file.fileno())
                data = file.read()
        except FileNotFoundError as error:
            raise _missing_error(digest) from error
        except OSError as error:
            raise errors.storage_fault(error, f"The file blobs/{digest[:2]}/{digest} cannot be read") from error
        state = (status.st_size, status.st_mtime_ns)
        if self._verified.get(digest) != state or len(data) != status.st_size:
            if hashlib.sha256(data).hexdigest() != digest:
                raise _damaged_error(digest)
            self._remember_verified(digest, state)
        return data

    def discard_unneeded(self, digests: Iterable[str], is_needed: Callable[[str], bool]) -> None:
        """Remove the files that no request holds and for which `is_needed` is false.

        Called on the writer: a request that stored a file and wrote its row holds the file until after the commit.
        """
        with self._holds.lock_unheld_files(digests) as free_digests:
            for digest in free_digests:
                if self.may_remove_files and not is_needed(digest):
                    self.path_of(digest).unlink(missing_ok=True)

    def all_files(self) -> list[Path]:
        """Return all content files, for backups and for the removal of files that no row names."""
        return sorted(file for file in self._root.glob("??/*") if not file.name.startswith("."))

    @contextlib.contextmanager
    def prevent_removal(self) -> Iterator[None]:
        """Prevent the removal of files while a backup copies the files that its database names."""
        self._copies += 1
        try:
            yield
        finally:
            self._copies -= 1

    @property
    def may_remove_files(self) -> bool:
        """Return whether files that no row names may be removed now: no backup is copying files."""
        return self._copies == 0

    def _remember_verified(self, digest: str, state: _FileState) -> None:
        if len(self._verified) >= limits.blobs_verified_max:
            self._verified.clear()
        self._verified[digest] = state

    def path_of(self, digest: str) -> Path:
        """Return the path of a content's file, whether the file exists or not."""
        return self._root / digest[:2] / digest

    def _write_file(self, digest: str, data: bytes) -> None:
        target = self.path_of(digest)
        if _has_content(target, data):
            # A new time, so that housekeeping does not remove the file as a stray before its row is written.
            os.utime(target)
            return
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


def _has_content(file: Path, data: bytes) -> bool:
    """Return whether a file exists and holds `data`. The caller replaces a damaged file."""
    try:
        return file.stat().st_size == len(data) and file.read_bytes() == data
    except OSError:
        return False


def _verified_body(content: StoredContent) -> bytes:
    """Return a content from its row. Refuse a body with a known hash that does not match."""
    body = content.body or b""
    if content.sha256 and hashlib.sha256(body).hexdigest() != content.sha256:
        raise errors.StorageDamaged(
            "The database is damaged: the content of a row does not match its hash.", hint=errors.DAMAGE_HINT
        )
    return body


def _damaged_error(digest: str) -> errors.FileDamaged:
    return errors.FileDamaged(
        f"The file blobs/{digest[:2]}/{digest} is damaged: its content does not match its name.",
        hint="Store the same content again, or restore a backup. `maestro doctor` lists all damaged files.",
        data={"file": digest},
    )


def _missing_error(digest: str) -> errors.FileMissing:
    return errors.FileMissing(
        f"The file blobs/{digest[:2]}/{digest} is missing.",
        hint="Store the same content again, or restore a backup. `maestro doctor` lists all missing files.",
        data={"file": digest},
    )


def _flush_folder(folder: Path) -> None:
    """Flush a folder: only then is a new file name in the folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
