"""Tell the person which mail the rate guard has stopped."""

from __future__ import annotations

from datetime import datetime

from maestro.core.errors import MaestroError
from maestro.domain.callers import SERVER_NAME
from maestro.domain.events import EventKind, NewEvent
from maestro.services.mail.rate_limit import Alarm, MailLimiter
from maestro.services.sessions import notices
from maestro.store.base import Store, Tx


class AlarmJob:
    """A job that runs when the rate guard has stopped mail."""

    name = "rate-alarms"

    def __init__(self, store: Store, guard: MailLimiter) -> None:
        self._store = store
        self._guard = guard

    async def run_once(self) -> datetime | None:
        alarms = self._guard.take_alarms()
        if alarms:
            try:
                await self._store.write(lambda tx: _notify_person(tx, alarms))
            except MaestroError:
                # The next round reports the alarms, because the person was not told about them yet.
                self._guard.put_back_alarms(alarms)
                raise
        return None


def _notify_person(tx: Tx, alarms: list[Alarm]) -> None:
    for alarm in alarms:
        notices.notify_person(tx, alarm.project_id, subject=alarm.subject, text=alarm.text)
        data = {"subject": alarm.subject, "thread": alarm.thread_id}
        tx.log(
            NewEvent(EventKind.MAIL_STOPPED, alarm.thread_id or alarm.key, alarm.project_id, data), actor=SERVER_NAME
        )
