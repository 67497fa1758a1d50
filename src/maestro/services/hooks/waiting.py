"""Agents whose model itself starts a command that waits for mail. The tool knows the command.

Checks whether the command runs, and gives the instruction for an agent without a running command.
"""

from __future__ import annotations

from maestro.core import errors
from maestro.domain.talks import Talk
from maestro.services.programs.runners import Runners
from maestro.tools import registry
from maestro.tools.hooks.base import Happening
from maestro.tools.policy import SHELL


class Waiting:
    """Asks runners whether the wait commands of their agents run."""

    def __init__(self, runners: Runners) -> None:
        self._runners = runners

    def has_waiter(self, talk: Talk | None, happening: Happening) -> bool:
        """Return whether the session's tool needs a wait command, and the event comes from the agent itself."""
        return (
            talk is not None and not happening.is_aside and registry.waiter(happening.tool, talk.driver) is not None
        )

    def is_own(self, talk: Talk | None, happening: Happening) -> bool:
        """Return whether a tool call is the wait command, which needs no permission."""
        waiter = registry.waiter(happening.tool, talk.driver) if talk is not None else None
        if talk is None or waiter is None:
            return False
        return happening.action == SHELL + waiter.command(self.folder(talk.session_id))

    async def owed(self, talk: Talk | None, happening: Happening) -> str:
        """Return the instruction for an agent that is about to stop without a wait command; "" if none is needed."""
        waiter = registry.waiter(happening.tool, talk.driver) if talk is not None else None
        if talk is None or waiter is None or happening.is_aside:
            return ""
        try:
            state = await self._runners.ask(talk.session_id, do="state")
        except errors.Conflict:
            return ""  # the session ends
        return "" if state.get("listens") else waiter.owed(self.folder(talk.session_id))

    def folder(self, session_id: str) -> str:
        """Return Maestro's folder for the session, as an absolute path."""
        return str(self._runners.folder(session_id).absolute())
