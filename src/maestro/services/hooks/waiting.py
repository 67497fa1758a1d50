"""Agents whose model has to wait for Maestro itself, with a command that it starts: whether it does, and what it is
told if not. How it waits, its tool knows."""

from __future__ import annotations

from maestro.core import errors
from maestro.domain.talks import Talk
from maestro.services.programs.runners import Runners
from maestro.tools import registry
from maestro.tools.hooks.base import Happening
from maestro.tools.policy import SHELL


class Waiting:
    """Asks their runners, which have the other end."""

    def __init__(self, runners: Runners) -> None:
        self._runners = runners

    def has_waiter(self, talk: Talk | None, happening: Happening) -> bool:
        """Whether a session is such an agent, and this a word of its own."""
        return (
            talk is not None and not happening.is_aside and registry.waiter(happening.tool, talk.driver) is not None
        )

    def is_own(self, talk: Talk | None, happening: Happening) -> bool:
        """Whether a tool call is that very command: it needs nobody's leave."""
        waiter = registry.waiter(happening.tool, talk.driver) if talk is not None else None
        if talk is None or waiter is None:
            return False
        return happening.action == SHELL + waiter.command(self.folder(talk.session_id))

    async def owed(self, talk: Talk | None, happening: Happening) -> str:
        """What one that is about to stop must be told, because nothing waits; '' if nothing need be said."""
        waiter = registry.waiter(happening.tool, talk.driver) if talk is not None else None
        if talk is None or waiter is None or happening.is_aside:
            return ""
        try:
            state = await self._runners.ask(talk.session_id, do="state")
        except errors.Conflict:
            return ""  # it ends
        return "" if state.get("listens") else waiter.owed(self.folder(talk.session_id))

    def folder(self, session_id: str) -> str:
        """Return the folder that Maestro keeps for a session."""
        return str(self._runners.folder(session_id).absolute())
