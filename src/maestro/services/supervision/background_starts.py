"""Start programs in the background: a slow set-up delays no other start.

No state is stored: the next server finds and starts every stored session without a program.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from maestro.core import errors
from maestro.services.supervision.launch import ProgramLauncher

log = logging.getLogger(__name__)


class BackgroundStarts:
    """The starts that are under way. Callers check `is_full` before another start."""

    def __init__(self, launcher: ProgramLauncher, *, count_max: int | None = None) -> None:
        self._launcher = launcher
        self._count_max = count_max
        self._tasks: set[asyncio.Task[None]] = set()
        self.on_room: Callable[[], None] = lambda: None  # called when another start has room

    @property
    def is_full(self) -> bool:
        return self._count_max is not None and len(self._tasks) >= self._count_max

    def start_program(self, session_id: str) -> None:
        """Start the program of a session in the background. The launcher starts a session only once."""
        work = asyncio.create_task(self._start(session_id))
        self._tasks.add(work)
        work.add_done_callback(self._drop_finished)

    async def wait_for_one(self, *, seconds: float) -> bool:
        """Wait at most `seconds` for the end of any start. Return whether a start has ended."""
        if not self._tasks or seconds <= 0:
            return False
        done, _ = await asyncio.wait(self._tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        return bool(done)

    async def close(self) -> None:
        """Cancel the running starts. The next server finds and starts the sessions."""
        for work in self._tasks:
            work.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _drop_finished(self, work: asyncio.Task[None]) -> None:
        self._tasks.discard(work)
        self.on_room()

    async def _start(self, session_id: str) -> None:
        try:
            for warning in await self._launcher.start_or_fail(session_id):
                log.warning("%s: %s", session_id, warning)
        except (errors.MaestroError, OSError) as error:
            log.warning("%s could not be started: %s", session_id, error)
