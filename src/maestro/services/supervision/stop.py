"""Stop a session at any stage: the set-up command, or the program through the runner."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from maestro.core import errors
from maestro.services.runners.runners import Runners
from maestro.services.supervision.launch import ProgramLauncher
from maestro.wire import runner_requests


class ProgramStopper:
    """Asks set-ups and runners to stop. The runner or the launcher reports the end."""

    def __init__(self, runners: Runners, launcher: ProgramLauncher) -> None:
        self._runners = runners
        self._launcher = launcher

    async def stop_program(self, session_id: str, *, by: str) -> None:
        """Stop a session's set-up or program, with all its processes."""
        if not await self._launcher.stop_setup(session_id, by=by):
            await self._runners.send_request(session_id, do=runner_requests.STOP, by=by)

    async def stop_setup(self, session_id: str, *, by: str) -> None:
        """Stop only the set-up of a session that has no program yet."""
        await self._launcher.stop_setup(session_id, by=by)

    async def stopped_by(self, session_id: str) -> str | None:
        """Return the name of the caller that has asked the program to stop, or None."""
        try:
            state = await self._runners.send_request(session_id, do=runner_requests.STATE)
        except errors.Conflict:
            return None
        name = state.get(runner_requests.STOPPING)
        return str(name) if name else None

    async def is_ending(self, session_id: str) -> bool:
        """Return whether the session's runner still lives although it takes no more requests."""
        return await asyncio.to_thread(self._runners.has_live_runner, session_id)

    async def stop_programs(self, session_ids: Iterable[str], *, by: str) -> None:
        """Stop several sessions. Errors are ignored: a session without a runner has ended already."""
        await asyncio.gather(
            *(self.stop_program(session_id, by=by) for session_id in session_ids), return_exceptions=True
        )

    async def has_viewer(self, session_id: str) -> bool:
        """Return whether a terminal is attached to the session's program."""
        state = await self._runners.send_request(session_id, do=runner_requests.STATE)
        return bool(state.get(runner_requests.ATTACHED))
