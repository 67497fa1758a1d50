"""Who has been heard of lately, in memory."""

from __future__ import annotations

import asyncio

import pytest

from maestro.core import limits
from maestro.services.sessions.presence import Presence
from maestro.testing.clock import FakeClock


def test_a_sign_of_life_counts_for_so_long_whatever_the_wall_clock_says(clock: FakeClock) -> None:
    presence = Presence(clock)
    assert not presence.was_heard("ses_1")
    presence.heard("ses_1")
    clock.advance(limits.session_lease_seconds - 1)
    clock.jump(8 * 3600)
    assert presence.was_heard("ses_1") and not presence.was_heard("ses_1", seconds=10)
    clock.advance(1)
    assert not presence.was_heard("ses_1")


def test_an_open_line_counts_until_the_last_one_closes(clock: FakeClock) -> None:
    presence = Presence(clock)
    with presence.attached("ses_1"):
        with presence.attached("ses_1"):
            assert presence.on_the_line() == ["ses_1"]
        clock.advance(1000)
        assert presence.was_heard("ses_1") and presence.on_the_line() == ["ses_1"]
    assert presence.on_the_line() == [] and presence.was_heard("ses_1")
    with presence.attached(None):
        assert presence.on_the_line() == []


def test_a_line_that_is_cut_is_no_sign_of_life(clock: FakeClock) -> None:
    presence = Presence(clock)
    with pytest.raises(asyncio.CancelledError), presence.attached("ses_1"):
        raise asyncio.CancelledError
    assert presence.on_the_line() == [] and not presence.was_heard("ses_1")
    with pytest.raises(ValueError), presence.attached("ses_1"):
        raise ValueError
    assert presence.was_heard("ses_1")


def test_what_is_not_stored_yet_is_taken_some_at_a_time(clock: FakeClock) -> None:
    presence = Presence(clock)
    for session_id in ("a", "b", "a", "c"):
        presence.heard(session_id)
    assert presence.take_unstored(2) == ["a", "b"] and presence.has_unstored
    assert presence.take_unstored(2) == ["c"] and not presence.has_unstored


def test_the_ended_are_forgotten(clock: FakeClock) -> None:
    presence = Presence(clock)
    presence.heard("ses_1")
    presence.forget("ses_1")
    presence.forget("ses_2")
    assert not presence.was_heard("ses_1") and presence.take_unstored(9) == []


def test_what_outlives_a_process_and_waits_on_says_nothing_of_its_session(clock: FakeClock) -> None:
    presence = Presence(clock)
    presence.process_ended("ses_1")
    presence.heard("ses_1", again=True)
    with presence.attached("ses_1"):
        assert not presence.was_heard("ses_1") and presence.on_the_line() == []
    assert not presence.was_heard("ses_1"), "nor does its end"
    presence.heard("ses_1")
    assert presence.was_heard("ses_1"), "a new call does"
    presence.heard("ses_2", again=True)
    assert presence.was_heard("ses_2"), "its process lives"
