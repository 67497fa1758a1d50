"""Takes answers to the tools that wait for them, and what is no longer waited for off the list."""

from __future__ import annotations

from datetime import datetime, timedelta

from maestro.core import errors, limits
from maestro.core.clock import Clock
from maestro.domain.talks import ToolAsk
from maestro.services.programs.runners import Runners
from maestro.services.talks import asking
from maestro.store.base import Store, Tx

_AGAIN = timedelta(seconds=2)


class Answering:
    """Runs when something was answered or put aside. An answer is told until its tool no longer waits."""

    name = "answering"

    def __init__(self, store: Store, runners: Runners, *, clock: Clock) -> None:
        self._store = store
        self._runners = runners
        self._clock = clock

    async def run_once(self) -> datetime | None:
        found = await self._store.read(lambda tx: tx.talks.decided_asks(limit=limits.upkeep_batch_rows_max))
        left = [one for one in found if not await self._told(one)]
        return self._clock.now() + _AGAIN if left else None

    async def _told(self, one: ToolAsk) -> bool:
        """Whether there is nothing left to tell."""

        def look(tx: Tx) -> str | None:
            ask, spawn = tx.asks.get(one.ask_id), tx.spawns.get(one.session_id)
            is_over = ask is None or spawn is None or spawn.ended_at is not None or spawn.epoch != one.epoch
            return None if is_over or ask is None else asking.choice_of(ask)

        choice = await self._store.read(look, quick=True)
        if choice is not None:
            try:
                await self._runners.ask(one.session_id, do="answer", ask=one.asked_as, choice=choice)
            except errors.Conflict:
                return False  # its runner is not there, or is about to end
            return True  # the tool itself says that it goes on; that takes it off the list
        await self._store.write(lambda tx: tx.talks.forget_ask(one.ask_id), quick=True)
        return True
