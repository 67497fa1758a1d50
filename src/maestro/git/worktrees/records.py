"""The record of a worktree, in a file in the worktree's git directory: removed together with the worktree."""

from __future__ import annotations

import hashlib
import json

import msgspec

from maestro.core import limits
from maestro.core.errors import Invalid
from maestro.system import checkout_files, small_files

_NAME = "maestro.json"


class WorktreeRecord(msgspec.Struct, frozen=True):
    """The base commit of a worktree, and the files from its preparation: name → SHA-256."""

    base: str = ""
    copied: dict[str, str] = {}
    made: dict[str, str] = {}  # made or changed by the set-up command


def read_record(git_dir: str) -> WorktreeRecord:
    """Return the record; an empty record if the file is missing or unreadable. No file then counts as copied."""
    try:
        data = checkout_files.read_file(git_dir, _NAME, bytes_max=limits.worktree_record_bytes_max)
        return msgspec.convert(json.loads(data or b"{}"), WorktreeRecord)
    except (OSError, ValueError, RecursionError, Invalid):
        return WorktreeRecord()


def write_record(git_dir: str, record: WorktreeRecord) -> None:
    """Store the record, whole or not at all."""
    # The JSON encoder of the standard library keeps names that are no valid UTF-8.
    checkout_files.write_file(git_dir, _NAME, json.dumps(msgspec.structs.asdict(record)).encode("ascii"))


def hash_plain_file(path: str) -> str:
    """Return the SHA-256 of a plain file; an empty text for other kinds of files."""
    try:
        opened = small_files.open_plain(path)
    except OSError:
        return ""
    if opened is None:
        return ""
    with opened as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
