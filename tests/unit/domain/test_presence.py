"""The presence of an agent follows from the end of its session and from the time of its last sign of life."""

from __future__ import annotations

import pytest

from maestro.domain.presence import Presence, judge_presence


@pytest.mark.parametrize(
    ("silent_seconds", "presence"),
    [(0.0, Presence.ONLINE), (90.0, Presence.ONLINE), (90.1, Presence.AWAY), (1e9, Presence.AWAY)],
)
def test_a_silent_agent_is_away_after_the_limit(silent_seconds: float, presence: Presence) -> None:
    assert judge_presence(has_ended=False, silent_seconds=silent_seconds, seconds_max=90) is presence


@pytest.mark.parametrize("silent_seconds", [0.0, 1e9])
def test_an_ended_session_is_offline_at_once(silent_seconds: float) -> None:
    assert judge_presence(has_ended=True, silent_seconds=silent_seconds, seconds_max=90) is Presence.OFFLINE
