"""Ratios of paired rounds: the median, the 95 % interval of the median, and the bar."""

from __future__ import annotations

import random
import statistics
from dataclasses import dataclass

RATIO_MIN = 0.97
_RESAMPLES = 4_000


@dataclass(frozen=True)
class Ratio:
    """The ratio of base time to new time: above 1 the new tree is faster."""

    median: float
    low: float
    high: float

    @property
    def is_met(self) -> bool:
        """Return whether the median is at least 0.97, or 1 lies within the 95 % interval."""
        return self.median >= RATIO_MIN or self.low <= 1 <= self.high


def compare_rounds(base: list[list[float]], new: list[list[float]]) -> Ratio:
    """Compare the median times of paired rounds. The interval is a bootstrap over the pairs."""
    ratios = [statistics.median(old) / statistics.median(now) for old, now in zip(base, new, strict=True)]
    chance = random.Random(len(ratios))
    medians = sorted(statistics.median(chance.choices(ratios, k=len(ratios))) for _ in range(_RESAMPLES))
    return Ratio(statistics.median(ratios), medians[int(_RESAMPLES * 0.025)], medians[int(_RESAMPLES * 0.975) - 1])
