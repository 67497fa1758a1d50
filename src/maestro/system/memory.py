"""Give the memory of large requests back to the system. Without a request, glibc keeps freed memory."""

from __future__ import annotations

import asyncio
import ctypes
from collections.abc import Callable

_AFTER_SECONDS = 1.0  # many large requests within this time cost a single call
_scheduled: set[asyncio.AbstractEventLoop] = set()


def give_memory_back_soon() -> None:
    """Schedule that the C library gives unused memory back to the system. Call this function on the event loop."""
    loop = asyncio.get_running_loop()
    if _trim is not None and loop not in _scheduled:
        _scheduled.add(loop)
        loop.call_later(_AFTER_SECONDS, _give_back_now, loop, _trim)


def _give_back_now(loop: asyncio.AbstractEventLoop, trim: Callable[[int], int]) -> None:
    _scheduled.discard(loop)
    loop.run_in_executor(None, trim, 0)


def _find_trim() -> Callable[[int], int] | None:
    """Return glibc's `malloc_trim`; other C libraries have none."""
    try:
        found: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError):
        return None
    return found


_trim = _find_trim()
