"""Reads the record of a conversation that a hook's payload names.

The agent chooses the path. So the file must be a regular file below the tool's own folder, and a read that hangs
takes up a thread of this module only, and only for a while.
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

_pool = ThreadPoolExecutor(limits.record_threads_max, thread_name_prefix="records")


class Piece(msgspec.Struct, frozen=True):
    """The bytes of a record from `start` on, and the size of the whole record."""

    data: bytes
    start: int
    size_bytes: int


async def read(record: str, folders: tuple[str, ...], *, start: int | None) -> Piece | None:
    """Return what stands in the record after `start`; None for a file that Maestro does not read.

    Without a `start`, look at the size only.
    """
    return await _in_own_thread(lambda: _read(record, folders, start))


async def _in_own_thread(work: Callable[[], Piece | None]) -> Piece | None:
    try:
        async with asyncio.timeout(limits.record_seconds_max):
            return await asyncio.get_running_loop().run_in_executor(_pool, work)
    except TimeoutError:
        return None


def _read(record: str, folders: tuple[str, ...], start: int | None) -> Piece | None:
    try:
        real = os.path.realpath(record)
        top = next((top for top in map(os.path.realpath, folders) if real.startswith(f"{top}/")), None)
        if top is None:
            return None
        with checkout_files.open_file(top, str(Path(real).relative_to(top))) as file:
            size = os.fstat(file.fileno()).st_size
            if start is None:
                return Piece(b"", size, size)
            start = start if start <= size else 0  # the tool wrote its record anew
            file.seek(start)
            return Piece(file.read(limits.transcript_bytes_max), start, size)
    except (OSError, ValueError, Invalid):
        return None
