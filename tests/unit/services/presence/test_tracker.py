"""The tracker keeps the signs of life of sessions in memory."""

from __future__ import annotations

import asyncio

import pytest

from maestro.core import limits
from maestro.services.presence.tracker import PresenceTracker
from maestro.testing.clock import FakeClock


def test_a_sign_of_life_counts_for_a_lease_and_ignores_the_wall_clock(clock: FakeClock) -> None:
    presence = PresenceTracker(clock)
    assert not presence.was_heard_within("ses_1")
    presence.record_sign("ses_1")
    clock.advance(limits.session_lease_seconds - 1)
    clock.jump(8 * 3600)
    assert presence.was_heard_within("ses_1") and not presence.was_heard_within("ses_1", seconds=10)
    clock.advance(1)
    assert not presence.was_heard_within("ses_1")


def test_a_session_stays_connected_until_its_last_connection_closes(clock: FakeClock) -> None:
    presence = PresenceTracker(clock)
    with presence.keep_connected("ses_1"):
        with presence.keep_connected("ses_1"):
            assert presence.connected_sessions() == ["ses_1"]
        clock.advance(1000)
        assert presence.was_heard_within("ses_1") and presence.connected_sessions() == ["ses_1"]
    assert presence.connected_sessions() == [] and presence.was_heard_within("ses_1")
    with presence.keep_connected(None):
        assert presence.connected_sessions() == []


def test_a_cancelled_connection_is_no_sign_of_life(clock: FakeClock) -> None:
    presence = PresenceTracker(clock)
    with pytest.raises(asyncio.CancelledError), presence.keep_connected("ses_1"):
        raise asyncio.CancelledError
    assert presence.connected_sessions() == [] and not presence.was_heard_within("ses_1")
    with pytest.raises(ValueError), presence.keep_connected("ses_1"):
        raise ValueError
    assert presence.was_heard_within("ses_1")


def test_take_unstored_returns_unstored_signs_of_life_in_batches(clock: FakeClock) -> None:
    presence = PresenceTracker(clock)
    for session_id in ("a", "b", "a", "c"):
        presence.record_sign(session_id)
    assert [presence.take_unstored(2) for _ in range(3)] == [["a", "b"], ["c"], []]


def test_the_signs_of_life_of_a_forgotten_session_are_removed(clock: FakeClock) -> None:
    presence = PresenceTracker(clock)
    presence.record_sign("ses_1")
    presence.forget_session("ses_1")
    presence.forget_session("ses_2")
    assert not presence.was_heard_within("ses_1") and presence.take_unstored(9) == []


def test_an_open_wait_of_an_ended_process_is_no_sign_of_life(clock: FakeClock) -> None:
    presence = PresenceTracker(clock)
    presence.record_process_end("ses_1")
    presence.record_sign("ses_1", is_repeated=True)
    with presence.keep_connected("ses_1"):
        assert not presence.was_heard_within("ses_1") and presence.connected_sessions() == []
    assert not presence.was_heard_within("ses_1"), "the end of the wait is no sign of life"
    presence.record_sign("ses_1")
    assert presence.was_heard_within("ses_1"), "a new call is a sign of life"
    presence.record_sign("ses_2", is_repeated=True)
    assert presence.was_heard_within("ses_2"), "the process of ses_2 lives"


def test_silent_seconds_count_from_the_last_sign_of_life(clock: FakeClock) -> None:
    presence = PresenceTracker(clock)
    assert presence.silent_seconds("ses_1") is None, "no sign of life since the start of the server"
    presence.record_sign("ses_1")
    clock.advance(7)
    assert presence.silent_seconds("ses_1") == 7
    with presence.keep_connected("ses_1"):
        clock.advance(100)
        assert presence.silent_seconds("ses_1") == 0


def test_the_end_of_a_process_removes_unstored_signs_of_life(clock: FakeClock) -> None:
    presence = PresenceTracker(clock)
    presence.record_sign("ses_1")
    presence.record_process_end("ses_1")
    assert presence.silent_seconds("ses_1") is None and presence.take_unstored(9) == []
