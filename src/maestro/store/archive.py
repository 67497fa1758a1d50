"""The file that a backup is: a copy of the database, and the content files that the copy names."""

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
class Files:
    """The content files of one archive: how many are in it, and which of those that it should hold are not sound."""

    packed: int = 0
    missing: list[str] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)

    def require_all(self) -> None:
        """Refuse an archive with missing or damaged files, and list them."""
        if not self.missing and not self.damaged:
            return
        kind = errors.FileDamaged if self.damaged else errors.FileMissing
        named = [*_named(self.missing, "missing"), *_named(self.damaged, "damaged")]
        raise kind(
            f"Files that the database names are not sound. {' '.join(named)}",
            hint="Go on without them: --allow-missing. docs/recovery.md says how to get them back.",
            data={"missing": self.missing, "damaged": self.damaged},
        )


def _named(digests: list[str], state: str) -> list[str]:
    if not digests:
        return []
    shown, rest = digests[: limits.names_in_message_max], len(digests) - limits.names_in_message_max
    more = f" and {rest} more" if rest > 0 else ""
    return [f"{state.capitalize()}: {', '.join(shown)}{more}."]


def pack(archive: Path, database: Path, blobs: Blobs, names: Iterable[str]) -> Files:
    """Write an archive and flush it. Files that are missing are left out and listed."""
    files = Files()
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


def verify(archive: Path, database: Path, files: Files) -> None:
    """Read an archive back: refuse it unless it holds the database, and list the files whose content is damaged."""
    with tarfile.open(archive) as packed:
        for member in packed:
            source = packed.extractfile(member)
            assert source is not None, "an archive has only plain files"
            found = hash_of(source)
            if member.name != DATABASE:
                name = member.name.rpartition("/")[2]
                if found != name:
                    files.damaged.append(name)
                continue
            with database.open("rb") as copy:
                if found != hash_of(copy):
                    raise errors.StorageIOFailed(
                        "The backup does not hold what was written to it.", hint="Write it to another disk."
                    )


def hash_of(file: IO[bytes]) -> str:
    """Return the SHA-256 of an open file's content."""
    digest = hashlib.sha256()
    while piece := file.read(1 << 20):
        digest.update(piece)
    return digest.hexdigest()
