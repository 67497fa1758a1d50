"""Limit mail: messages a minute to a mailbox, and quick replies in a row in a thread.

A refused sender gets the reason. The person gets an alarm, at most once an hour for each cause.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import msgspec

from maestro.core import errors, limits
from maestro.domain.callers import Caller
from maestro.domain.messages import Message, next_hop_count
from maestro.services.quotas.families import Families
from maestro.services.quotas.rates import Rate, RateWindow
from maestro.store.base import Tx

_ALARM_EVERY = timedelta(hours=1)
_ALARM_KEYS_MAX = 100_000
# Which senders were counted: in the subject of the alarm, and in the refusal.
_ALARM_SUBJECTS = {
    "session": "{title} sends",
    "family": "The family of {title} sends",
    "project": "The project of {title} sends",
}
_REFUSAL_SENDERS = {
    "session": "",
    "family": " from the sessions of your family",
    "project": " from the sessions of your project",
}


class Alarm(msgspec.Struct, frozen=True):
    """A notice for the person about mail that was refused."""

    key: str
    project_id: str | None
    subject: str
    text: str
    thread_id: str | None = None


class MailLimiter:
    """Counts messages in memory, so a restart of the server clears all counts."""

    def __init__(
        self,
        families: Families,
        *,
        per_minute: int = limits.mail_per_minute_default,
        per_minute_of_family: int = limits.mail_per_minute_of_family_default,
        per_minute_of_project: int = limits.mail_per_minute_of_project_default,
    ) -> None:
        self._families = families
        self._session_rate = Rate(per_minute)
        self._family_rate = Rate(per_minute_of_family)
        self._project_rate = Rate(per_minute_of_project)
        self._is_counting = bool(per_minute or per_minute_of_family or per_minute_of_project)
        self._alarm_times: dict[str, datetime] = {}
        self._alarms: list[Alarm] = []
        self.on_alarm: Callable[[], None] = lambda: None

    def count_message(self, tx: Tx, caller: Caller, mailbox: str, *, name: str) -> None:
        """Count a message to a mailbox; refuse the message if too many went there within a minute.

        Messages count for the session, for its family and for its project. Starting child sessions costs nothing, and
        must not raise the limit.
        """
        if not caller.is_session or not self._is_counting:
            return
        windows = self._rate_windows(tx, caller, mailbox)
        self._refuse_over_limit(tx, caller, windows, mailbox, name)
        for window in windows:
            window.count += 1
            tx.on_undo(window.reduce_count)

    def check_message(self, tx: Tx, caller: Caller, mailbox: str, *, name: str) -> None:
        """Refuse a message that exceeds a limit, without counting the message."""
        if caller.is_session:
            self._refuse_over_limit(tx, caller, self._rate_windows(tx, caller, mailbox), mailbox, name)

    def _rate_windows(self, tx: Tx, caller: Caller, mailbox: str) -> tuple[RateWindow, RateWindow, RateWindow]:
        family = self._families.top_of(tx, caller)
        return (
            self._session_rate.current_window((caller.name, mailbox), tx.at),
            self._family_rate.current_window((family, mailbox), tx.at),
            self._project_rate.current_window((caller.project_id, mailbox), tx.at),
        )

    def _refuse_over_limit(
        self, tx: Tx, caller: Caller, windows: tuple[RateWindow, RateWindow, RateWindow], mailbox: str, name: str
    ) -> None:
        session_window, family_window, project_window = windows
        if session_window.count >= session_window.most:
            raise self._too_fast_error(tx, caller, caller.name, self._session_rate.most, "session", mailbox, name)
        if family_window.count >= family_window.most:
            key = self._families.top_of(tx, caller)
            raise self._too_fast_error(tx, caller, key, self._family_rate.most, "family", mailbox, name)
        if project_window.count >= project_window.most:
            key = caller.project_id or ""
            raise self._too_fast_error(tx, caller, key, self._project_rate.most, "project", mailbox, name)

    def _too_fast_error(
        self, tx: Tx, caller: Caller, key: str, limit: int, counted: str, mailbox: str, name: str
    ) -> errors.TooFast:
        """Raise an alarm for the person, and return the error for the sender."""
        senders = _ALARM_SUBJECTS[counted].format(title=caller.title)
        self._raise_alarm(
            Alarm(
                f"fast:{key}:{mailbox}",
                caller.project_id,
                f"{senders} too much mail to {name}",
                f"More than {limit} messages within a minute. More messages are refused until the minute is over.",
            ),
            tx.at,
        )
        return errors.TooFast(
            f"More than {limit} messages went to {name} within a minute{_REFUSAL_SENDERS[counted]}.",
            hint="Wait a minute, and put several points into a single message. The person has been informed.",
            data={"per_minute": limit, "counted": counted, "recipient": mailbox},
        )

    def count_hops(self, caller: Caller, parent: Message, *, at: datetime) -> int:
        """Return the number of quick replies in a row in a thread; refuse a reply that exceeds the limit."""
        if not caller.is_session:
            return 0
        hops = next_hop_count(parent, sender=caller.name, at=at, seconds=limits.mail_hop_seconds)
        if hops <= limits.mail_hops_max:
            return hops
        names = f"{caller.title} and {parent.sender.name}"
        self._raise_alarm(
            Alarm(
                f"loop:{parent.thread_id}",
                caller.project_id,
                f"{names} answer each other without end",
                f"{hops} answers within moments of each other in “{parent.subject}”. The thread is stopped.\n"
                f"See: maestro mail thread {parent.thread_id}",
                parent.thread_id,
            ),
            at,
        )
        raise errors.Looping(
            f"{names} have answered each other {hops} times without a pause: this thread is stopped.",
            hint="Do not answer acknowledgements. "
            f"The thread can go on after {limits.mail_hop_seconds} s of silence, "
            "or when the person writes in the thread. The person has been informed.",
            data={"thread": parent.thread_id, "hops": hops},
        )

    def take_alarms(self) -> list[Alarm]:
        """Return and remove the alarms that are not posted yet."""
        taken, self._alarms = self._alarms, []
        return taken

    def put_back_alarms(self, alarms: list[Alarm]) -> None:
        """Keep alarms that could not be posted."""
        self._alarms[:0] = alarms

    def _raise_alarm(self, alarm: Alarm, at: datetime) -> None:
        last_alarm_at = self._alarm_times.get(alarm.key)
        if last_alarm_at is not None and at - last_alarm_at < _ALARM_EVERY:
            return
        if len(self._alarm_times) >= _ALARM_KEYS_MAX:
            self._alarm_times.clear()
        self._alarm_times[alarm.key] = at
        self._alarms.append(alarm)
        self.on_alarm()
