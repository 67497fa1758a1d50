"""Starting programs behind the back of whoever has seen that they are missing: one slow set-up holds up nobody else.

Nothing is kept of it: a session that was written and has no program is found and started by the next server.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from maestro.core import errors
from maestro.services.programs.launching import Launching

log = logging.getLogger(__name__)


class Starts:
    """Those that are under way. Whoever begins one looks first whether there is room."""

    def __init__(self, launching: Launching, *, most: int | None = None) -> None:
        self._launching = launching
        self._most = most
        self._under_way: set[asyncio.Task[None]] = set()
        self.on_done: Callable[[], None] = lambda: None  # there is room for another

    @property
    def is_full(self) -> bool:
        return self._most is not None and len(self._under_way) >= self._most

    def begin(self, session_id: str) -> None:
        """Start the program of a session; one that is being started already is not started twice."""
        work = asyncio.create_task(self._start(session_id))
        self._under_way.add(work)
        work.add_done_callback(self._is_done)

    async def one_is_done(self, *, seconds: float) -> bool:
        """Wait for one of them, at most so long; whether there was one."""
        if not self._under_way or seconds <= 0:
            return False
        done, _ = await asyncio.wait(self._under_way, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        return bool(done)

    async def close(self) -> None:
        """What is being started now is found and started by the next server."""
        for work in self._under_way:
            work.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)

    def _is_done(self, work: asyncio.Task[None]) -> None:
        self._under_way.discard(work)
        self.on_done()

    async def _start(self, session_id: str) -> None:
        try:
            for warning in await self._launching.start_or_fail(session_id):
                log.warning("%s: %s", session_id, warning)
        except (errors.MaestroError, OSError) as error:
            log.warning("%s could not be started: %s", session_id, error)
