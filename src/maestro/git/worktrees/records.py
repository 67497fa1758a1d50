"""What Maestro remembers of one worktree, in a file beside git's own about it: it goes when the worktree goes."""

from __future__ import annotations

import hashlib
import json

import msgspec

from maestro.core import limits
from maestro.core.errors import Invalid
from maestro.git.worktrees import plain_files
from maestro.system import checkout_files

_NAME = "maestro.json"


class Record(msgspec.Struct, frozen=True):
    """Where a worktree began, and what was there before anybody worked in it: name → SHA-256."""

    base: str = ""
    copied: dict[str, str] = {}
    made: dict[str, str] = {}  # by the set-up command


def read(git_dir: str) -> Record:
    """The record; an empty one when there is none to be read, so that nothing counts as copied."""
    try:
        kept = checkout_files.read_file(git_dir, _NAME, bytes_max=limits.worktree_record_bytes_max)
        return msgspec.convert(json.loads(kept or b"{}"), Record)
    except (OSError, ValueError, RecursionError, Invalid):
        return Record()


def write(git_dir: str, record: Record) -> None:
    """Store the record, whole or not at all."""
    # The standard library's JSON: it keeps names that are no UTF-8.
    checkout_files.write_file(git_dir, _NAME, json.dumps(msgspec.structs.asdict(record)).encode("ascii"))


def digest(path: str) -> str:
    """The SHA-256 of a plain file; empty for anything else."""
    try:
        opened = plain_files.open_plain(path)
    except OSError:
        return ""
    if opened is None:
        return ""
    with opened as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
