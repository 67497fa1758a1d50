"""Tell the person about new asks: one line in the terminal after the next command, once per ask."""

from __future__ import annotations

from maestro.domain.callers import Caller, Role
from maestro.operations import asks
from maestro.operations.app import App
from maestro.surfaces.cli.render.style import safe_line

_shown_max = 5


class AskNotices:
    """Remembers the asks that the person has seen."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._seen_asks: set[str] = set()

    async def new_ask_notes(self, caller: Caller) -> list[str]:
        """Return a note for each ask that is new since the last command. Only the person gets notes."""
        if caller.role is not Role.PERSON:
            return []
        open_asks: asks.AskList = await self._app.call(asks.LIST, asks.ListAsks(), caller=caller)
        new_asks = [ask for ask in open_asks.asks if ask.id not in self._seen_asks]
        self._seen_asks = {ask.id for ask in open_asks.asks}
        return [
            f"{safe_line(ask.asked_by)} needs you: {safe_line(ask.title)}  (maestro ask show {ask.id})"
            for ask in new_asks[:_shown_max]
        ]
