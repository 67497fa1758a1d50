"""Withdraw asks in own windows when the program's record shows that the person has answered.

A program calls no hook when the person refuses a tool call. But the program adds lines to the record of its
conversation, and adds no lines while its dialog is open.
"""

from __future__ import annotations

import os
from datetime import datetime, timedelta

from maestro.core import limits
from maestro.domain.callers import SERVER_CALLER
from maestro.domain.sessions import SessionStatus, StatusSource
from maestro.services.asks import asks
from maestro.services.conversations import record_files
from maestro.services.sessions import status
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
        answered = [record for record in records if await _is_answered(record)]
        if answered:
            await self._store.write(lambda tx: _withdraw_all(tx, answered), quick=True)
        return now + _POLL if len(records) > len(answered) else None


def _withdraw_all(tx: Tx, answered: list[WindowAskRecord]) -> None:
    """Withdraw the asks. Their sessions are idle: the person refused the call, which ends the turn without a hook."""
    for record in answered:
        asks.withdraw_if_open(tx, record.ask_id, actor=SERVER_CALLER.name)
        session = tx.sessions.get(record.session_id)
        if (
            session is not None
            and session.status is SessionStatus.NEEDS_INPUT
            and not asks.has_open_asks(tx, session)
        ):
            status.apply_signal(
                tx,
                session,
                SessionStatus.IDLE,
                source=StatusSource.HOOK,
                detail="the person has refused a call",
                actor=SERVER_CALLER.name,
            )


async def _is_answered(record: WindowAskRecord) -> bool:
    """Return whether the program has changed its record since the dialog opened."""
    dialect = registry.DIALECTS.get(record.tool or "")
    if dialect is None:
        return False
    changed_at = await record_files.last_change(record.record_file, (dialect.own_folder(os.environ),))
    return changed_at is not None and changed_at > record.record_since
