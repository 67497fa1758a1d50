"""Keeps conversations from running away: so many messages a minute, so many answers back and forth.

What it stops is not silent: the sender is told why, and an alarm goes to the person, once an hour for one cause.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import msgspec

from maestro.core import errors, limits
from maestro.domain.callers import Caller
from maestro.domain.messages import Message, next_hops
from maestro.services.families import Families
from maestro.services.rates import Rate, Window
from maestro.store.base import Tx

_ALARM_EVERY = timedelta(hours=1)
_CAUSES_MAX = 100_000
# Whose messages were counted, in what the person and the sender are told.
_SENDERS = {
    "session": "{title} sends",
    "family": "The family of {title} sends",
    "project": "The project of {title} sends",
}
_FROM = {
    "session": "",
    "family": " from the sessions of your family",
    "project": " from the sessions of your project",
}


class Alarm(msgspec.Struct, frozen=True):
    """Something a person must hear of."""

    key: str
    project_id: str | None
    subject: str
    text: str
    thread_id: str | None = None


class Guard:
    """Counts in memory: a restart forgives everyone."""

    def __init__(
        self,
        families: Families,
        *,
        per_minute: int = limits.mail_per_minute_default,
        per_minute_of_family: int = limits.mail_per_minute_of_family_default,
        per_minute_of_project: int = limits.mail_per_minute_of_project_default,
    ) -> None:
        self._families = families
        self._of_session = Rate(per_minute)
        self._of_family = Rate(per_minute_of_family)
        self._of_project = Rate(per_minute_of_project)
        self._is_counting = bool(per_minute or per_minute_of_family or per_minute_of_project)
        self._told: dict[str, datetime] = {}
        self._alarms: list[Alarm] = []
        self.on_alarm: Callable[[], None] = lambda: None

    def count(self, tx: Tx, caller: Caller, box: str, *, name: str) -> None:
        """Count one more message to a mailbox; refuse it if there were too many within a minute.

        A session counts by itself, with its family and with its project: children are free, and must gain nothing.
        """
        if not caller.is_session or not self._is_counting:
            return
        windows = self._windows(tx, caller, box)
        self._check(tx, caller, windows, box, name)
        for window in windows:
            window.count += 1
            tx.on_undo(window.take_back)

    def check(self, tx: Tx, caller: Caller, box: str, *, name: str) -> None:
        """Refuse a message that `count` would refuse, and count nothing."""
        if caller.is_session:
            self._check(tx, caller, self._windows(tx, caller, box), box, name)

    def _windows(self, tx: Tx, caller: Caller, box: str) -> tuple[Window, Window, Window]:
        family = self._families.top_of(tx, caller)
        return (
            self._of_session.window((caller.name, box), tx.at),
            self._of_family.window((family, box), tx.at),
            self._of_project.window((caller.project_id, box), tx.at),
        )

    def _check(self, tx: Tx, caller: Caller, windows: tuple[Window, Window, Window], box: str, name: str) -> None:
        of_session, of_family, of_project = windows
        if of_session.count >= of_session.most:
            raise self._too_fast(tx, caller, caller.name, self._of_session.most, "session", box, name)
        if of_family.count >= of_family.most:
            key = self._families.top_of(tx, caller)
            raise self._too_fast(tx, caller, key, self._of_family.most, "family", box, name)
        if of_project.count >= of_project.most:
            key = caller.project_id or ""
            raise self._too_fast(tx, caller, key, self._of_project.most, "project", box, name)

    def _too_fast(
        self, tx: Tx, caller: Caller, key: str, most: int, counted: str, box: str, name: str
    ) -> errors.TooFast:
        """Tell the person, and return the refusal."""
        senders = _SENDERS[counted].format(title=caller.title)
        self._raise_alarm(
            Alarm(
                f"fast:{key}:{box}",
                caller.project_id,
                f"{senders} too much mail to {name}",
                f"More than {most} messages within a minute. Further ones are refused for now.",
            ),
            tx.at,
        )
        return errors.TooFast(
            f"More than {most} messages went to {name} within a minute{_FROM[counted]}.",
            hint="Wait a minute. Put several things into one message. The person has been told.",
            data={"per_minute": most, "counted": counted, "recipient": box},
        )

    def hop(self, caller: Caller, parent: Message, *, at: datetime) -> int:
        """How often in a row this conversation was answered within moments; refuse what answers itself."""
        if not caller.is_session:
            return 0
        hops = next_hops(parent, sender=caller.name, at=at, seconds=limits.mail_hop_seconds)
        if hops <= limits.mail_hops_max:
            return hops
        names = f"{caller.title} and {parent.sender.name}"
        self._raise_alarm(
            Alarm(
                f"loop:{parent.thread_id}",
                caller.project_id,
                f"{names} answer each other without end",
                f"{hops} answers within moments of each other in “{parent.subject}”. The conversation was stopped.\n"
                f"See: maestro mail thread {parent.thread_id}",
                parent.thread_id,
            ),
            at,
        )
        raise errors.Looping(
            f"{names} have answered each other {hops} times without a pause: this conversation is stopped.",
            hint=f"Do not answer acknowledgements. It can go on after {limits.mail_hop_seconds} s of silence, "
            "or when the person writes in it. The person has been told.",
            data={"thread": parent.thread_id, "hops": hops},
        )

    def take_alarms(self) -> list[Alarm]:
        """What has not been told yet."""
        taken, self._alarms = self._alarms, []
        return taken

    def put_back(self, alarms: list[Alarm]) -> None:
        """These could not be told."""
        self._alarms[:0] = alarms

    def _raise_alarm(self, alarm: Alarm, at: datetime) -> None:
        told = self._told.get(alarm.key)
        if told is not None and at - told < _ALARM_EVERY:
            return
        if len(self._told) >= _CAUSES_MAX:
            self._told.clear()
        self._told[alarm.key] = at
        self._alarms.append(alarm)
        self.on_alarm()
