"""Records of changed settings files, and copies of the files before the change: in the data directory's `connect`."""

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
class ConnectRecord:
    """One settings file that Maestro changed."""

    tool: str
    scope: str
    path: str
    before: str | None  # the name of the copy; None if the file did not exist
    after: str  # the digest of the content that Maestro wrote
    mcp: Any = None  # the MCP entry that Maestro wrote
    tables: list[list[str]] = field(default_factory=list)  # the TOML tables that Maestro wrote
    folders: list[str] = field(default_factory=list)  # the folders that Maestro made for the file
    at: float = 0.0


def digest_content(content: bytes | None) -> str:
    return hashlib.sha256(content).hexdigest() if content is not None else ""


class ConnectRecords:
    """All records of one data directory."""

    def __init__(self, home: Path) -> None:
        self._folder = home / _FOLDER

    def find_record(self, path: Path) -> ConnectRecord | None:
        try:
            return ConnectRecord(**json.loads(self._record_file(path).read_bytes()))
        except (OSError, ValueError, TypeError):
            return None

    def records_of_tool(self, tool: str) -> list[ConnectRecord]:
        return [record for record in self._all_records() if record.tool == tool]

    def content_before(self, record: ConnectRecord) -> bytes | None:
        return (self._folder / record.before).read_bytes() if record.before is not None else None

    def copy_content(self, path: Path, content: bytes) -> str:
        """Copy the content of a settings file before a change; return the copy's name. Equal content has one copy."""
        self._make_folder()
        name = f"{self._record_name(path)}.{digest_content(content)[:12]}.before"
        if not (self._folder / name).exists():
            self._write_file(self._folder / name, content)
        return name

    def save_record(self, record: ConnectRecord) -> None:
        self._make_folder()
        record.at = time.time()
        self._write_file(self._record_file(Path(record.path)), json.dumps(asdict(record), indent=1).encode() + b"\n")

    def delete_record(self, record: ConnectRecord) -> None:
        """Delete the record of a restored file. The copy stays: it is small, and may be the person's last copy."""
        self._record_file(Path(record.path)).unlink(missing_ok=True)

    def hand_over_folders(self, folders: list[Path]) -> None:
        """Add each folder to the record of another file in it: the last file of a folder removes the folder."""
        for folder in folders:
            for record in self._all_records():
                if Path(os.path.realpath(record.path)).is_relative_to(folder):
                    record.folders.append(str(folder))
                    self.save_record(record)
                    break

    def _all_records(self) -> list[ConnectRecord]:
        files = sorted(self._folder.glob("*.json")) if self._folder.is_dir() else []
        return [record for file in files if (record := self._read_record(file)) is not None]

    def _make_folder(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    def _read_record(self, file: Path) -> ConnectRecord | None:
        try:
            return ConnectRecord(**json.loads(file.read_bytes()))
        except (OSError, ValueError, TypeError):
            return None

    def _record_name(self, path: Path) -> str:
        return f"{path.name.lstrip('.')}-{hashlib.sha256(os.fsencode(path)).hexdigest()[:12]}"

    def _record_file(self, path: Path) -> Path:
        return self._folder / f"{self._record_name(path)}.json"

    def _write_file(self, file: Path, content: bytes) -> None:
        part = file.with_name(f".{file.name}.{os.getpid()}")
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as out:
            out.write(content)
            out.flush()
            os.fsync(out.fileno())
        part.rename(file)
