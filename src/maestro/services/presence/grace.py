"""A grace period for signs of life: after a sleep of the machine, a jump of the clock, or a time without a server."""

from __future__ import annotations

from datetime import timedelta

from maestro.core import limits
from maestro.core.clock import Clock

GRACE = timedelta(seconds=limits.sleep_grace_seconds)
# A larger difference between the two clocks is a jump, not drift.
_JUMP_SECONDS = 5.0


class GracePeriod:
    """Compares the wall clock with the monotonic clock. The period starts when their offset jumps."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._offset = self._clock_offset()
        self._until = 0.0

    def start_period(self) -> None:
        self._until = self._clock.monotonic() + limits.sleep_grace_seconds

    def detect_clock_jump(self) -> bool:
        """Return whether the clocks' offset has jumped since the last call. A jump starts the grace period."""
        offset = self._clock_offset()
        if abs(offset - self._offset) <= _JUMP_SECONDS:
            return False
        self._offset = offset
        self.start_period()
        return True

    def remaining_time(self) -> timedelta:
        """Return the rest of the grace period, in which no session is judged lost. Check for a jump first."""
        self.detect_clock_jump()
        return timedelta(seconds=max(self._until - self._clock.monotonic(), 0))

    def _clock_offset(self) -> float:
        return self._clock.now().timestamp() - self._clock.monotonic()
