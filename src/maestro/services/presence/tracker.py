"""Signs of life of sessions, kept in memory. A background job stores them at intervals.

Any call of a session is a sign of life. A session that waits on an open connection gives signs all the time.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from maestro.core import limits
from maestro.core.clock import Clock


class PresenceTracker:
    """The time of each session's last sign of life."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._seen: dict[str, float] = {}
        self._attached: Counter[str] = Counter()
        self._orphaned: set[str] = set()  # their process has ended: an open wait of theirs proves no life
        self._unstored: dict[str, None] = {}

    def record_sign(self, session_id: str, *, is_repeated: bool = False) -> None:
        """Record a sign of life. `is_repeated` marks the sign of an old wait, which may outlive the process."""
        if is_repeated and session_id in self._orphaned:
            return
        self._seen[session_id] = self._clock.monotonic()
        self._orphaned.discard(session_id)
        self._unstored[session_id] = None

    @contextmanager
    def keep_connected(self, session_id: str | None) -> Iterator[None]:
        """Count a session as present while its own connection is open."""
        if session_id is None:
            yield
            return
        self._attached[session_id] += 1
        try:
            yield
        except asyncio.CancelledError:
            raise  # a closed connection is no sign of life
        except BaseException:
            self.record_sign(session_id, is_repeated=True)
            raise
        else:
            self.record_sign(session_id, is_repeated=True)
        finally:
            self._attached[session_id] -= 1
            if not self._attached[session_id]:
                del self._attached[session_id]

    def was_heard_within(self, session_id: str, *, seconds: float = limits.session_lease_seconds) -> bool:
        """Return whether a session is connected, or gave a sign of life within `seconds`."""
        seen = self._seen.get(session_id)
        if session_id in self._attached and session_id not in self._orphaned:
            return True
        return seen is not None and self._clock.monotonic() - seen < seconds

    def silent_seconds(self, session_id: str) -> float | None:
        """Return the seconds since the last sign of life; None if the session gave none since the server started."""
        if session_id in self._attached and session_id not in self._orphaned:
            return 0.0
        seen = self._seen.get(session_id)
        return None if seen is None else self._clock.monotonic() - seen

    def record_process_end(self, session_id: str) -> None:
        """Void the signs of life of a session whose process has ended. Only a new call counts."""
        self._seen.pop(session_id, None)
        self._unstored.pop(session_id, None)
        self._orphaned.add(session_id)

    def forget_session(self, session_id: str) -> None:
        """Drop the signs of life of a session that has ended."""
        self._seen.pop(session_id, None)
        self._unstored.pop(session_id, None)
        self._orphaned.discard(session_id)

    def take_unstored(self, limit: int) -> list[str]:
        """Return at most `limit` sessions whose signs of life are not stored, and mark them as stored."""
        taken = list(self._unstored)[:limit]
        for session_id in taken:
            del self._unstored[session_id]
        return taken

    def connected_sessions(self) -> list[str]:
        """Return the sessions with an open connection; each of them gives a sign of life."""
        return [session_id for session_id in self._attached if session_id not in self._orphaned]
