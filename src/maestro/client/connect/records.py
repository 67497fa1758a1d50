"""What was changed in whose settings, and the files as they were before: in the data directory's `connect`."""

from __future__ import annotations

import hashlib
import json
import os
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

_FOLDER = "connect"


@dataclass
class Record:
    """One file that Maestro changed."""

    tool: str
    scope: str
    path: str
    before: str | None  # the name of the copy; None if there was no file
    after: str  # the digest of what Maestro wrote
    mcp: Any = None  # the entry that is Maestro's own
    tables: list[list[str]] = field(default_factory=list)  # TOML tables that are
    folders: list[str] = field(default_factory=list)  # that were made for it
    at: float = 0.0


def digest(content: bytes | None) -> str:
    return hashlib.sha256(content).hexdigest() if content is not None else ""


class Records:
    """All of them."""

    def __init__(self, home: Path) -> None:
        self._folder = home / _FOLDER

    def get(self, path: Path) -> Record | None:
        try:
            return Record(**json.loads(self._file(path).read_bytes()))
        except (OSError, ValueError, TypeError):
            return None

    def of(self, tool: str) -> list[Record]:
        found = [self._read(file) for file in sorted(self._folder.glob("*.json"))] if self._folder.is_dir() else []
        return [record for record in found if record is not None and record.tool == tool]

    def content_before(self, record: Record) -> bytes | None:
        return (self._folder / record.before).read_bytes() if record.before is not None else None

    def keep(self, path: Path, content: bytes) -> str:
        """A copy of a file as it was; one that was kept before is the same."""
        self._make()
        name = f"{self._name(path)}.{digest(content)[:12]}.before"
        if not (self._folder / name).exists():
            self._write(self._folder / name, content)
        return name

    def put(self, record: Record) -> None:
        self._make()
        record.at = time.time()
        self._write(self._file(Path(record.path)), json.dumps(asdict(record), indent=1).encode() + b"\n")

    def drop(self, record: Record) -> None:
        """It is as it was. The copy stays: it costs little, and may be someone's last one."""
        self._file(Path(record.path)).unlink(missing_ok=True)

    def _make(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    def _read(self, file: Path) -> Record | None:
        try:
            return Record(**json.loads(file.read_bytes()))
        except (OSError, ValueError, TypeError):
            return None

    def _name(self, path: Path) -> str:
        return f"{path.name.lstrip('.')}-{hashlib.sha256(os.fsencode(path)).hexdigest()[:12]}"

    def _file(self, path: Path) -> Path:
        return self._folder / f"{self._name(path)}.json"

    def _write(self, file: Path, content: bytes) -> None:
        part = file.with_name(f".{file.name}.{os.getpid()}")
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as out:
            out.write(content)
            out.flush()
            os.fsync(out.fileno())
        part.rename(file)
