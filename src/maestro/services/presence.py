"""Who has been heard of lately. Signs of life are kept in memory, and stored every so often by upkeep.

Any call that a session makes is a sign of life; a session that waits on an open connection gives one all the while.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from maestro import limits
from maestro.clock import Clock


class Presence:
    """Sessions, and when each was last heard of."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._seen: dict[str, float] = {}
        self._attached: Counter[str] = Counter()
        self._unstored: dict[str, None] = {}

    def heard(self, session_id: str) -> None:
        """A sign of life."""
        self._seen[session_id] = self._clock.monotonic()
        self._unstored[session_id] = None

    @contextmanager
    def attached(self, session_id: str | None) -> Iterator[None]:
        """For as long as a session's own connection stays open, it is there."""
        if session_id is None:
            yield
            return
        self._attached[session_id] += 1
        try:
            yield
        finally:
            self._attached[session_id] -= 1
            if not self._attached[session_id]:
                del self._attached[session_id]
            self.heard(session_id)

    def was_heard(self, session_id: str, *, seconds: float = limits.session_lease_seconds) -> bool:
        """Whether a session is on the line, or was within this time."""
        seen = self._seen.get(session_id)
        return session_id in self._attached or (seen is not None and self._clock.monotonic() - seen < seconds)

    def forget(self, session_id: str) -> None:
        """A session has ended."""
        self._seen.pop(session_id, None)
        self._unstored.pop(session_id, None)

    def take_unstored(self, limit: int) -> list[str]:
        """Sessions whose signs of life are not in the store yet, some at a time."""
        taken = list(self._unstored)[:limit]
        for session_id in taken:
            del self._unstored[session_id]
        return taken

    @property
    def has_unstored(self) -> bool:
        return bool(self._unstored)

    def on_the_line(self) -> list[str]:
        """Sessions with an open connection: all of them give a sign of life."""
        return list(self._attached)
