"""The archive file of a backup: a copy of the database, and the content files that the copy refers to."""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from maestro.core import errors, limits
from maestro.store.blobs import Blobs
from maestro.store.layout import BLOBS, DATABASE


@dataclass
class ArchivedFiles:
    """The content files of an archive: the number of packed files, and the names of missing and damaged ones."""

    packed: int = 0
    missing: list[str] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)

    def require_all_sound(self) -> None:
        """Refuse an archive with missing or damaged files. The error lists the files."""
        if not self.missing and not self.damaged:
            return
        error_class = errors.FileDamaged if self.damaged else errors.FileMissing
        sentences = [*_list_files(self.missing, "missing"), *_list_files(self.damaged, "damaged")]
        raise error_class(
            f"The database refers to missing or damaged files. {' '.join(sentences)}",
            hint="Go on without these files: --allow-missing. docs/recovery.md says how to get the files back.",
            data={"missing": self.missing, "damaged": self.damaged},
        )


def _list_files(digests: list[str], state: str) -> list[str]:
    """Return one sentence that lists files in a state; an empty list for no files."""
    if not digests:
        return []
    shown, hidden_count = digests[: limits.names_in_message_max], len(digests) - limits.names_in_message_max
    more = f" and {hidden_count} more" if hidden_count > 0 else ""
    return [f"{state.capitalize()}: {', '.join(shown)}{more}."]


def pack_archive(archive: Path, database: Path, blobs: Blobs, names: Iterable[str]) -> ArchivedFiles:
    """Write an archive and flush it. Missing files are left out; the result lists them."""
    files = ArchivedFiles()
    descriptor = os.open(archive, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as out:
        with tarfile.open(fileobj=out, mode="w") as packed:
            packed.add(database, DATABASE)
            for name in names:
                try:
                    data = blobs.path_of(name).read_bytes()
                except FileNotFoundError:
                    files.missing.append(name)
                    continue
                member = tarfile.TarInfo(f"{BLOBS}/{name[:2]}/{name}")
                member.size, member.mode = len(data), 0o600
                packed.addfile(member, io.BytesIO(data))
                files.packed += 1
        out.flush()
        os.fsync(out.fileno())
    return files


def verify_archive(archive: Path, database: Path, files: ArchivedFiles) -> None:
    """Read an archive back. Refuse a wrong copy of the database, and add damaged content files to `files`."""
    with tarfile.open(archive) as packed:
        for member in packed:
            source = packed.extractfile(member)
            assert source is not None, "an archive has only plain files"
            digest = hash_file(source)
            if member.name != DATABASE:
                name = member.name.rpartition("/")[2]
                if digest != name:
                    files.damaged.append(name)
                continue
            with database.open("rb") as copy:
                if digest != hash_file(copy):
                    raise errors.StorageIOFailed(
                        f"The backup {archive} differs from the data that was written to the file.",
                        hint="Write the backup to another disk.",
                    )


def hash_file(file: IO[bytes]) -> str:
    """Return the SHA-256 of an open file's content."""
    digest = hashlib.sha256()
    while piece := file.read(1 << 20):
        digest.update(piece)
    return digest.hexdigest()
