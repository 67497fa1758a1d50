"""Withdraw asks in own windows when the program's record shows that the person has answered.

A program calls no hook when the person refuses a tool call. But the program adds lines to the record of its
conversation, and adds no lines while its dialog is open.
"""

from __future__ import annotations

import os
from datetime import datetime, timedelta

from maestro.core import limits
from maestro.domain.callers import SERVER_CALLER
from maestro.services.asks import asks
from maestro.services.conversations import record_files
from maestro.store.base import Store, Tx
from maestro.store.repositories.asks import WindowAskRecord
from maestro.tools import registry

_POLL = timedelta(seconds=limits.window_ask_poll_seconds)


class WindowAskJob:
    """A job that runs while asks are open in own windows."""

    name = "window-asks"

    def __init__(self, store: Store) -> None:
        self._store = store

    async def leave_calls_to_windows(self) -> None:
        """Leave the asks about calls that the last server held to the windows: no hook waits for the answers now."""
        await self._store.write(lambda tx: tx.asks.leave_calls_to_windows())

    async def run_once(self) -> datetime | None:
        records, now = await self._store.read(
            lambda tx: (tx.asks.list_with_record(limit=limits.page_items_max), tx.at), quick=True
        )
        answered = [record.ask_id for record in records if await _is_answered(record)]
        if answered:
            await self._store.write(lambda tx: _withdraw_all(tx, answered), quick=True)
        return now + _POLL if len(records) > len(answered) else None


def _withdraw_all(tx: Tx, ask_ids: list[str]) -> None:
    for ask_id in ask_ids:
        asks.withdraw_if_open(tx, ask_id, actor=SERVER_CALLER.name)


async def _is_answered(record: WindowAskRecord) -> bool:
    """Return whether the program has changed its record since the dialog opened."""
    dialect = registry.DIALECTS.get(record.tool or "")
    if dialect is None:
        return False
    changed_at = await record_files.last_change(record.record_file, (dialect.own_folder(os.environ),))
    return changed_at is not None and changed_at > record.record_since
