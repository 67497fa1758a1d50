"""The terminal's way to say that an agent needs the person: a line after their next command, once per request."""

from __future__ import annotations

from maestro.domain.callers import Caller, Role
from maestro.operations import asks
from maestro.operations.app import App
from maestro.surfaces.cli.render.style import line

_shown_max = 5


class Attention:
    """Remembers what the person has been told."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._told: set[str] = set()

    async def notes(self, caller: Caller) -> list[str]:
        """What is new since the last command."""
        if caller.role is not Role.PERSON:
            return []
        found: asks.AskList = await self._app.call(asks.LIST, asks.ListAsks(), caller=caller)
        fresh = [ask for ask in found.asks if ask.id not in self._told]
        self._told = {ask.id for ask in found.asks}
        return [
            f"{line(ask.asked_by)} needs you: {line(ask.title)}  (maestro ask show {ask.id})"
            for ask in fresh[:_shown_max]
        ]
