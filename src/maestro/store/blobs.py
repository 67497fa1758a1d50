"""Large contents as files beside the database, named by what is in them.

A file is written and flushed before the row that names it commits, so a row never names what is not there. A disk
or a person may still change a file later: its content is checked against its name before it is handed out.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from maestro.core import errors, limits
from maestro.domain.documents import Content
from maestro.store.holds import Hold, Holds

_State = tuple[int, int]  # size and time of the last change


class Blobs:
    """A folder of content-addressed files."""

    def __init__(self, root: Path) -> None:
        self._root = root
        # The state in which each file was last found sound. A file in another state is hashed again.
        self._verified: dict[str, _State] = {}
        self._copies = 0
        self._holds = Holds()

    def hold(self) -> Hold:
        """Return a hold for the files of one request: what is kept through it stays until its `with` block ends."""
        return Hold(self._holds, lambda data, hold: self.keep(data, hold=hold))

    def keep(self, data: bytes, *, hold: Hold | None = None) -> Content:
        """Small contents stay in their row; larger ones become a file."""
        digest = hashlib.sha256(data).hexdigest()
        if len(data) <= limits.inline_bytes_max:
            return Content(data, None, len(data), digest)
        if hold is not None:
            hold.take(digest)
        try:
            self._write(digest, data)
        except OSError as error:
            raise errors.storage_fault(error, "The content cannot be stored") from error
        return Content(None, digest, len(data), digest)

    def load(self, content: Content) -> bytes:
        """Return a content. Refuse a file that is missing or does not hold what its name says."""
        if content.blob is None:
            return _sound_body(content)
        data = self.read(content.blob)
        if content.size and content.size != len(data):
            raise _damaged(content.blob)
        return data

    def read(self, digest: str) -> bytes:
        """Return the content of a file; hash it unless it is as it was when it was last found sound."""
        try:
            with self.path_of(digest).open("rb") as file:
                found = os.fstat(file.fileno())
                data = file.read()
        except FileNotFoundError as error:
            raise _missing(digest) from error
        except OSError as error:
            raise errors.storage_fault(error, f"The file blobs/{digest[:2]}/{digest} cannot be read") from error
        state = (found.st_size, found.st_mtime_ns)
        if self._verified.get(digest) != state or len(data) != found.st_size:
            if hashlib.sha256(data).hexdigest() != digest:
                raise _damaged(digest)
            self._remember(digest, state)
        return data

    def discard(self, digests: Iterable[str], is_needed: Callable[[str], bool]) -> None:
        """Remove files that nobody holds and that `is_needed` does not name.

        Called on the writer: a request that stored a file and wrote its row holds the file until after the commit.
        """
        with self._holds.free_of(digests) as free:
            for digest in free:
                if self.may_be_cleared and not is_needed(digest):
                    self.path_of(digest).unlink(missing_ok=True)

    def all(self) -> list[Path]:
        """Every file there is, for backups and for clearing out what no row names."""
        return sorted(file for file in self._root.glob("??/*") if not file.name.startswith("."))

    @contextlib.contextmanager
    def being_copied(self) -> Iterator[None]:
        """Keep every file in place while a backup copies the files that its database names."""
        self._copies += 1
        try:
            yield
        finally:
            self._copies -= 1

    @property
    def may_be_cleared(self) -> bool:
        """Whether files that no row names may be removed now."""
        return self._copies == 0

    def _remember(self, digest: str, state: _State) -> None:
        if len(self._verified) >= limits.blobs_verified_max:
            self._verified.clear()
        self._verified[digest] = state

    def path_of(self, digest: str) -> Path:
        """Return where the file of a content lies, or would lie."""
        return self._root / digest[:2] / digest

    def _write(self, digest: str, data: bytes) -> None:
        target = self.path_of(digest)
        if _holds(target, data):
            os.utime(target)  # young again, so that nobody takes it for a stray before its row is there
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


def _holds(file: Path, data: bytes) -> bool:
    """Return whether a file is there and has this content; a damaged one is written anew by the caller."""
    try:
        return file.stat().st_size == len(data) and file.read_bytes() == data
    except OSError:
        return False


def _sound_body(content: Content) -> bytes:
    """Return a content from its row. Refuse a body whose hash is known and does not match."""
    body = content.body or b""
    if content.sha256 and hashlib.sha256(body).hexdigest() != content.sha256:
        raise errors.StorageDamaged(
            "The database is damaged: the content of a row does not match its hash.", hint=errors.DAMAGE_HINT
        )
    return body


def _damaged(digest: str) -> errors.FileDamaged:
    return errors.FileDamaged(
        f"The file blobs/{digest[:2]}/{digest} is damaged: its content does not match its name.",
        hint="Store the same content again, or restore a backup. `maestro doctor` lists all damaged files.",
        data={"file": digest},
    )


def _missing(digest: str) -> errors.FileMissing:
    return errors.FileMissing(
        f"The file blobs/{digest[:2]}/{digest} is missing.",
        hint="Store the same content again, or restore a backup. `maestro doctor` lists all missing files.",
        data={"file": digest},
    )


def _flush_folder(folder: Path) -> None:
    """A new name is durable once its folder is flushed."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
