"""Ends what a session runs, however far it has come: its set-up command, or its program by way of its runner."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from maestro.core import errors
from maestro.services.programs.launching import Launching
from maestro.services.programs.runners import Runners


class Stopping:
    """Asks for the end; that it has come is reported by whoever ends."""

    def __init__(self, runners: Runners, launching: Launching) -> None:
        self._runners = runners
        self._launching = launching

    async def stop(self, session_id: str, *, by: str) -> None:
        """With all it started."""
        if not await self._launching.stop(session_id, by=by):
            await self._runners.ask(session_id, do="stop", by=by)

    async def end_set_up(self, session_id: str, *, by: str) -> None:
        """Only if its program is not there yet."""
        await self._launching.stop(session_id, by=by)

    async def stopped_by(self, session_id: str) -> str | None:
        """Who has told it to end already."""
        try:
            said = (await self._runners.ask(session_id, do="state")).get("stopping")
        except errors.Conflict:
            return None
        return str(said) if said else None

    async def is_ending(self, session_id: str) -> bool:
        """Whether its runner is there though it takes no more orders."""
        return await asyncio.to_thread(self._runners.is_alive, session_id)

    async def stop_all(self, session_ids: Iterable[str], *, by: str) -> None:
        """Several; one that is gone already has ended."""
        await asyncio.gather(*(self.stop(one, by=by) for one in session_ids), return_exceptions=True)

    async def is_looked_at(self, session_id: str) -> bool:
        """Whether someone sits at its terminal."""
        return bool((await self._runners.ask(session_id, do="state")).get("attached"))
