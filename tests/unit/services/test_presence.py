"""Who has been heard of lately, in memory."""

from __future__ import annotations

import asyncio

import pytest

from maestro.core import limits
from maestro.services.presence.tracker import PresenceTracker
from maestro.testing.clock import FakeClock


def test_a_sign_of_life_counts_for_so_long_whatever_the_wall_clock_says(clock: FakeClock) -> None:
    presence = PresenceTracker(clock)
    assert not presence.was_heard_within("ses_1")
    presence.record_sign("ses_1")
    clock.advance(limits.session_lease_seconds - 1)
    clock.jump(8 * 3600)
    assert presence.was_heard_within("ses_1") and not presence.was_heard_within("ses_1", seconds=10)
    clock.advance(1)
    assert not presence.was_heard_within("ses_1")


def test_an_open_line_counts_until_the_last_one_closes(clock: FakeClock) -> None:
    presence = PresenceTracker(clock)
    with presence.keep_connected("ses_1"):
        with presence.keep_connected("ses_1"):
            assert presence.connected_sessions() == ["ses_1"]
        clock.advance(1000)
        assert presence.was_heard_within("ses_1") and presence.connected_sessions() == ["ses_1"]
    assert presence.connected_sessions() == [] and presence.was_heard_within("ses_1")
    with presence.keep_connected(None):
        assert presence.connected_sessions() == []


def test_a_line_that_is_cut_is_no_sign_of_life(clock: FakeClock) -> None:
    presence = PresenceTracker(clock)
    with pytest.raises(asyncio.CancelledError), presence.keep_connected("ses_1"):
        raise asyncio.CancelledError
    assert presence.connected_sessions() == [] and not presence.was_heard_within("ses_1")
    with pytest.raises(ValueError), presence.keep_connected("ses_1"):
        raise ValueError
    assert presence.was_heard_within("ses_1")


def test_what_is_not_stored_yet_is_taken_some_at_a_time(clock: FakeClock) -> None:
    presence = PresenceTracker(clock)
    for session_id in ("a", "b", "a", "c"):
        presence.record_sign(session_id)
    assert presence.take_unstored(2) == ["a", "b"] and presence.has_unstored
    assert presence.take_unstored(2) == ["c"] and not presence.has_unstored


def test_the_ended_are_forgotten(clock: FakeClock) -> None:
    presence = PresenceTracker(clock)
    presence.record_sign("ses_1")
    presence.forget_session("ses_1")
    presence.forget_session("ses_2")
    assert not presence.was_heard_within("ses_1") and presence.take_unstored(9) == []


def test_what_outlives_a_process_and_waits_on_says_nothing_of_its_session(clock: FakeClock) -> None:
    presence = PresenceTracker(clock)
    presence.record_process_end("ses_1")
    presence.record_sign("ses_1", is_repeated=True)
    with presence.keep_connected("ses_1"):
        assert not presence.was_heard_within("ses_1") and presence.connected_sessions() == []
    assert not presence.was_heard_within("ses_1"), "nor does its end"
    presence.record_sign("ses_1")
    assert presence.was_heard_within("ses_1"), "a new call does"
    presence.record_sign("ses_2", is_repeated=True)
    assert presence.was_heard_within("ses_2"), "its process lives"
