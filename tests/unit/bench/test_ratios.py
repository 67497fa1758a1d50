"""A tree meets the bar if the median ratio of paired rounds is high enough, or if its 95 % interval contains 1."""

from __future__ import annotations

import random

import pytest
from bench.compare.statistics_of_ratios import compare_rounds


def rounds_of(seconds: float, *, spread: float, seed: int) -> list[list[float]]:
    chance = random.Random(seed)
    return [[seconds * chance.uniform(1 - spread, 1 + spread) for _ in range(5)] for _ in range(20)]


@pytest.mark.parametrize(
    ("new_seconds", "spread", "is_met"),
    [(1.0, 0.01, True), (0.5, 0.01, True), (1.02, 0.001, True), (1.1, 0.01, False), (1.05, 0.5, True)],
)
def test_a_slower_tree_misses_the_bar_unless_the_rounds_spread_too_far(
    new_seconds: float, spread: float, is_met: bool
) -> None:
    ratio = compare_rounds(rounds_of(1.0, spread=spread, seed=1), rounds_of(new_seconds, spread=spread, seed=2))
    assert ratio.low <= ratio.median <= ratio.high
    assert ratio.is_met == is_met


def test_a_ratio_above_1_means_that_the_new_tree_is_faster() -> None:
    assert compare_rounds([[2.0]] * 5, [[1.0]] * 5).median == 2.0
