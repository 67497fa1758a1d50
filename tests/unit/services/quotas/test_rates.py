"""A rate limits the count within a minute, separately for each key."""

from __future__ import annotations

from maestro.services.quotas.rates import Rate
from maestro.testing.clock import FakeClock


def is_full(rate: Rate, key: str, clock: FakeClock) -> bool:
    window = rate.current_window(key, clock.now())
    return window.count >= window.most


def test_the_window_of_a_key_is_full_at_the_limit_and_ends_after_a_minute(clock: FakeClock) -> None:
    rate = Rate(2)
    for _ in range(2):
        assert not is_full(rate, "a", clock)
        rate.current_window("a", clock.now()).count += 1
    assert is_full(rate, "a", clock) and not is_full(rate, "b", clock)
    clock.advance(59)
    assert is_full(rate, "a", clock)
    clock.advance(1)
    assert not is_full(rate, "a", clock)


def test_a_clock_that_is_set_back_starts_a_new_window(clock: FakeClock) -> None:
    rate = Rate(1)
    later, now = rate.current_window("a", clock.now().replace(year=2030)), rate.current_window("a", clock.now())
    assert now is not later


def test_a_rate_of_zero_has_no_limit(clock: FakeClock) -> None:
    rate = Rate(0)
    rate.current_window("a", clock.now()).count += 1_000_000
    assert not is_full(rate, "a", clock)
