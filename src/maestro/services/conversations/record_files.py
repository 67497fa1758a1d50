"""Read the file in which a tool records its conversation. The hook's payload names the file.

The agent chooses the path. Therefore the file must be a regular file below the tool's own folder, and a read that
hangs blocks only a thread of this module, for a bounded time.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, TypeVar

import msgspec

from maestro.core import limits
from maestro.core.errors import Invalid
from maestro.system import checkout_files
from maestro.wire import runner_folder

T = TypeVar("T")

_pool = ThreadPoolExecutor(limits.transcript_threads_max, thread_name_prefix="records")


class RecordPiece(msgspec.Struct, frozen=True):
    """The bytes of a record from `start` on, and the size of the whole record."""

    data: bytes
    start: int
    size_bytes: int


async def read_record(record: str, folders: tuple[str, ...], *, start: int | None) -> RecordPiece | None:
    """Return the content of the record after `start`, or None for a file that Maestro does not read.

    Without a `start`, return only the size.
    """
    return await _run_in_pool(lambda: _read_piece(record, folders, start))


async def last_change(record: str, folders: tuple[str, ...]) -> datetime | None:
    """Return the time of the record's last change, or None for a file that Maestro does not read."""
    return await _run_in_pool(lambda: _last_change(record, folders))


async def is_same_record(known: str, record: str, folders: tuple[str, ...]) -> bool:
    """Return whether two paths name the same record file: a path from before an upgrade has the earlier folder."""
    if known == record:
        return True
    return await _run_in_pool(lambda: _real_path(known, folders) == _real_path(record, folders)) or False


async def _run_in_pool(work: Callable[[], T | None]) -> T | None:
    try:
        async with asyncio.timeout(limits.transcript_read_seconds_max):
            return await asyncio.get_running_loop().run_in_executor(_pool, work)
    except TimeoutError:
        return None


def _last_change(record: str, folders: tuple[str, ...]) -> datetime | None:
    try:
        with _open_record(record, folders) as file:
            return datetime.fromtimestamp(os.fstat(file.fileno()).st_mtime, UTC)
    except (OSError, ValueError, Invalid):
        return None


def _open_record(record: str, folders: tuple[str, ...]) -> BinaryIO:
    """Open a record below one of the folders; raise FileNotFoundError for a file elsewhere."""
    real = _real_path(record, folders)
    top = next((top for top in map(os.path.realpath, folders) if real.startswith(f"{top}/")), None)
    if top is None:
        raise FileNotFoundError(record)
    return checkout_files.open_file(top, str(Path(real).relative_to(top)))


def _real_path(record: str, folders: tuple[str, ...]) -> str:
    """Return the real path of a record file, also for a name below the earlier folder of all sessions.

    While a runner of an earlier version lives, the earlier folder is a link. Later, the name leads nowhere.
    """
    real = os.path.realpath(record)
    if Path(real).exists():
        return real
    for folder in map(Path, folders):
        _, earlier, rest = record.partition(f"/{runner_folder.EARLIER_SESSIONS}/{folder.name}/")
        if earlier:
            return os.path.realpath(folder / rest)
    return real


def _read_piece(record: str, folders: tuple[str, ...], start: int | None) -> RecordPiece | None:
    try:
        with _open_record(record, folders) as file:
            size = os.fstat(file.fileno()).st_size
            if start is None:
                return RecordPiece(b"", size, size)
            start = start if start <= size else 0  # the tool has rewritten its record from the start
            file.seek(start)
            return RecordPiece(file.read(limits.transcript_bytes_max), start, size)
    except (OSError, ValueError, Invalid):
        return None
