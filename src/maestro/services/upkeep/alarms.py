"""Tells the person what the guard has stopped."""

from __future__ import annotations

from datetime import datetime

from maestro.core.errors import MaestroError
from maestro.domain.callers import SERVER
from maestro.domain.events import Change, Kind
from maestro.services.mail.guard import Alarm, Guard
from maestro.services.sessions import notices
from maestro.store.base import Store, Tx


class Alarms:
    """Runs when the guard has stopped something."""

    name = "alarms"

    def __init__(self, store: Store, guard: Guard) -> None:
        self._store = store
        self._guard = guard

    async def run_once(self) -> datetime | None:
        alarms = self._guard.take_alarms()
        if alarms:
            try:
                await self._store.write(lambda tx: _tell(tx, alarms))
            except MaestroError:
                self._guard.put_back(alarms)  # for the next round: the person has not been told
                raise
        return None


def _tell(tx: Tx, alarms: list[Alarm]) -> None:
    for alarm in alarms:
        notices.to_person(tx, alarm.project_id, subject=alarm.subject, text=alarm.text)
        data = {"subject": alarm.subject, "thread": alarm.thread_id}
        tx.log(Change(Kind.MAIL_STOPPED, alarm.thread_id or alarm.key, alarm.project_id, data), actor=SERVER)
