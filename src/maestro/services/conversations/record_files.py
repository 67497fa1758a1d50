"""Read the file in which a tool records its conversation. The hook's payload names the file.

The agent chooses the path. Therefore the file must be a regular file below the tool's own folder, and a read that
hangs blocks only a thread of this module, for a bounded time.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from maestro.core import limits
from maestro.core.errors import Invalid
from maestro.system import checkout_files

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


async def _run_in_pool(work: Callable[[], RecordPiece | None]) -> RecordPiece | None:
    try:
        async with asyncio.timeout(limits.transcript_read_seconds_max):
            return await asyncio.get_running_loop().run_in_executor(_pool, work)
    except TimeoutError:
        return None


def _read_piece(record: str, folders: tuple[str, ...], start: int | None) -> RecordPiece | None:
    try:
        real = os.path.realpath(record)
        top = next((top for top in map(os.path.realpath, folders) if real.startswith(f"{top}/")), None)
        if top is None:
            return None
        with checkout_files.open_file(top, str(Path(real).relative_to(top))) as file:
            size = os.fstat(file.fileno()).st_size
            if start is None:
                return RecordPiece(b"", size, size)
            start = start if start <= size else 0  # the tool has rewritten its record from the start
            file.seek(start)
            return RecordPiece(file.read(limits.transcript_bytes_max), start, size)
    except (OSError, ValueError, Invalid):
        return None
