"""Who has been heard of lately. Signs of life are kept in memory, and stored every so often by upkeep.

Any call that a session makes is a sign of life; a session that waits on an open connection gives one all the while.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from maestro.core import limits
from maestro.core.clock import Clock


class Presence:
    """Sessions, and when each was last heard of."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._seen: dict[str, float] = {}
        self._attached: Counter[str] = Counter()
        self._orphaned: set[str] = set()  # their process has ended: that something still waits for them says nothing
        self._unstored: dict[str, None] = {}

    def heard(self, session_id: str, *, again: bool = False) -> None:
        """A sign of life. `again`: of something that has waited all along, and outlives the session's process."""
        if again and session_id in self._orphaned:
            return
        self._seen[session_id] = self._clock.monotonic()
        self._orphaned.discard(session_id)
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
        except asyncio.CancelledError:
            raise  # to hang up is no sign of life
        except BaseException:
            self.heard(session_id, again=True)
            raise
        else:
            self.heard(session_id, again=True)
        finally:
            self._attached[session_id] -= 1
            if not self._attached[session_id]:
                del self._attached[session_id]

    def was_heard(self, session_id: str, *, seconds: float = limits.session_lease_seconds) -> bool:
        """Whether a session is on the line, or was within this time."""
        seen = self._seen.get(session_id)
        if session_id in self._attached and session_id not in self._orphaned:
            return True
        return seen is not None and self._clock.monotonic() - seen < seconds

    def silent_seconds(self, session_id: str) -> float | None:
        """How long nothing was heard of a session; nothing is known of one since the server started."""
        if session_id in self._attached and session_id not in self._orphaned:
            return 0.0
        seen = self._seen.get(session_id)
        return None if seen is None else self._clock.monotonic() - seen

    def process_ended(self, session_id: str) -> None:
        """What was heard before says nothing of now; only a new call does."""
        self._seen.pop(session_id, None)
        self._unstored.pop(session_id, None)
        self._orphaned.add(session_id)

    def forget(self, session_id: str) -> None:
        """A session has ended."""
        self._seen.pop(session_id, None)
        self._unstored.pop(session_id, None)
        self._orphaned.discard(session_id)

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
        return [session_id for session_id in self._attached if session_id not in self._orphaned]
