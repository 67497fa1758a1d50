"""Keeps conversations from running away: so many messages a minute, so many answers back and forth.

What it stops is not silent: the sender is told why, and an alarm goes to the person, once an hour for one cause.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import msgspec

from maestro import errors, limits
from maestro.domain.callers import Caller
from maestro.domain.messages import Message, next_hops

_MINUTE = timedelta(minutes=1)
_ALARM_EVERY = timedelta(hours=1)
_PAIRS_MAX = 100_000


class Alarm(msgspec.Struct, frozen=True):
    """Something a person must hear of."""

    key: str
    project_id: str | None
    subject: str
    text: str
    thread_id: str | None = None


class Guard:
    """Counts in memory: a restart forgives everyone."""

    def __init__(self, *, per_minute: int) -> None:
        self._per_minute = per_minute
        self._sent: dict[tuple[str, str], tuple[datetime, int]] = {}
        self._told: dict[str, datetime] = {}
        self._alarms: list[Alarm] = []
        self.on_alarm: Callable[[], None] = lambda: None

    def count(self, caller: Caller, box: str, *, name: str, at: datetime) -> None:
        """One more message from a session to a box; refuse it if there were too many within a minute."""
        if not caller.is_session or not self._per_minute:
            return
        pair = (caller.name, box)
        since, count = self._sent.get(pair, (at, 0))
        if at - since >= _MINUTE or at < since:
            since, count = at, 0
        if count >= self._per_minute:
            self._raise_alarm(
                Alarm(
                    f"fast:{caller.name}:{box}",
                    caller.project_id,
                    f"{caller.title} sends too much mail to {name}",
                    f"More than {self._per_minute} messages within a minute. Further ones are refused for now.",
                ),
                at,
            )
            raise errors.TooFast(
                f"More than {self._per_minute} messages went to {name} within a minute.",
                hint="Wait a minute. Put several things into one message. The person has been told.",
                data={"per_minute": self._per_minute, "recipient": box},
            )
        if len(self._sent) >= _PAIRS_MAX:
            self._sent.clear()
        self._sent[pair] = (since, count + 1)

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
        if len(self._told) >= _PAIRS_MAX:
            self._told.clear()
        self._told[alarm.key] = at
        self._alarms.append(alarm)
        self.on_alarm()
