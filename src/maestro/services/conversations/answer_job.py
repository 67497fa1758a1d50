"""Deliver answers of asks to waiting programs, and forget tool asks for which no program waits any more."""

from __future__ import annotations

from datetime import datetime, timedelta

from maestro.core import errors, limits
from maestro.core.clock import Clock
from maestro.domain.conversations import ToolAsk
from maestro.services.conversations import program_asks
from maestro.services.runners.runners import Runners
from maestro.store.base import Store, Tx
from maestro.wire import runner_requests

_RETRY_AFTER = timedelta(seconds=2)


class AnswerDeliveryJob:
    """A job that runs when an ask was answered or withdrawn. Answers are repeated until the program stops waiting."""

    name = "ask-answers"

    def __init__(self, store: Store, runners: Runners, *, clock: Clock) -> None:
        self._store = store
        self._runners = runners
        self._clock = clock

    async def run_once(self) -> datetime | None:
        decided = await self._store.read(lambda tx: tx.conversations.decided_asks(limit=limits.job_batch_rows_max))
        undelivered = [tool_ask for tool_ask in decided if not await self._deliver_answer(tool_ask)]
        return self._clock.now() + _RETRY_AFTER if undelivered else None

    async def _deliver_answer(self, tool_ask: ToolAsk) -> bool:
        """Hand the answer to the session's runner. Return False when the delivery must be repeated."""

        def read_choice(tx: Tx) -> str | None:
            ask, spawn = tx.asks.get(tool_ask.ask_id), tx.spawns.get(tool_ask.session_id)
            is_over = ask is None or spawn is None or spawn.ended_at is not None or spawn.epoch != tool_ask.epoch
            return None if is_over or ask is None else program_asks.reply_for_tool(ask)

        choice = await self._store.read(read_choice, quick=True)
        if choice is not None:
            try:
                await self._runners.send_request(
                    tool_ask.session_id, do=runner_requests.ANSWER, ask=tool_ask.asked_as, choice=choice
                )
            except errors.Conflict:
                return False  # the runner does not answer, or is about to end
            return True  # the program's report that its work continues removes the tool ask
        await self._store.write(lambda tx: tx.conversations.delete_ask(tool_ask.ask_id), quick=True)
        return True
