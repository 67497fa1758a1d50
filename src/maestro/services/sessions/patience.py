"""Time to be heard again: after a sleep of the machine, a jump of the clock, or a time without a server."""

from __future__ import annotations

from datetime import timedelta

from maestro.core import limits
from maestro.core.clock import Clock

GRACE = timedelta(seconds=limits.sleep_grace_seconds)
# More than this between the two clocks is no drift.
_JUMP_SECONDS = 5.0


class Patience:
    """Compares wall clock and monotonic clock: when they part, it begins."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._offset = self._clocks()
        self._until = 0.0

    def begin(self) -> None:
        self._until = self._clock.monotonic() + limits.sleep_grace_seconds

    def has_jumped(self) -> bool:
        """Whether the clocks parted since the last look; then patience begins."""
        offset = self._clocks()
        if abs(offset - self._offset) <= _JUMP_SECONDS:
            return False
        self._offset = offset
        self.begin()
        return True

    def left(self) -> timedelta:
        """How long judgement must still wait; looks at the clocks first."""
        self.has_jumped()
        return timedelta(seconds=max(self._until - self._clock.monotonic(), 0))

    def _clocks(self) -> float:
        return self._clock.now().timestamp() - self._clock.monotonic()
