"""What is known of a session: whose word counts, when it is lost, how its coordinator looks from below."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta

import pytest

from maestro.domain.callers import Role
from maestro.domain.sessions import ACTIVE, FINAL, Mode, Signal, Source, Status, contact, is_lost, judge, role_of
from maestro.testing.factories import make_session

AT = datetime(2026, 1, 1, 12, tzinfo=UTC)


def said(source: Source, status: Status, at: int, until: int | None = None) -> Signal:
    """A word `at` seconds after AT that counts `until` then."""
    ends = AT + timedelta(seconds=until) if until is not None else None
    return Signal(source, status, AT + timedelta(seconds=at), ends)


def test_the_newest_word_that_still_counts() -> None:
    registered = said(Source.REPORT, Status.WORKING, 0)
    idle = said(Source.HEARTBEAT, Status.IDLE, 10, until=60)
    asks = said(Source.HOOK, Status.NEEDS_INPUT, 5, until=300)
    for signals in itertools.permutations([registered, idle, asks]):
        assert judge(signals, AT + timedelta(seconds=20)) is idle
        assert judge(signals, AT + timedelta(seconds=60)) is asks  # at its end a word is over
        assert judge(signals, AT + timedelta(seconds=301)) is registered


def test_if_nothing_counts_any_more_the_newest_is_all_there_is() -> None:
    old, older = said(Source.HEARTBEAT, Status.IDLE, 10, until=20), said(Source.HOOK, Status.WORKING, 5, until=30)
    assert judge([old, older], AT + timedelta(hours=1)) is old


@pytest.mark.parametrize(("over", "heard", "lives"), [*itertools.product([True, False], repeat=3)])
def test_lost_is_when_nothing_speaks_for_it(over: bool, heard: bool, lives: bool) -> None:
    lost = is_lost(lease_is_over=over, was_heard=heard, process_lives=lives)
    assert lost == ((over, heard, lives) == (True, False, False))


def test_a_coordinator_is_fresh_for_so_long() -> None:
    boss = make_session(name="boss", mode=Mode.COORDINATE, seen_at=AT)
    assert contact(boss, at=AT + timedelta(seconds=120), seconds=120).fresh
    stale = contact(boss, at=AT + timedelta(seconds=121), seconds=120)
    assert not stale.fresh and (stale.name, stale.last_seen) == ("boss", AT)
    ended = make_session(seen_at=AT, ended_at=AT, status=Status.STOPPED)
    assert not contact(ended, at=AT, seconds=120).fresh


def test_every_status_is_final_or_active() -> None:
    assert set(Status) == FINAL | ACTIVE and not FINAL & ACTIVE
    assert {status.value for status in FINAL} == {"completed", "failed", "stopped", "lost"}


def test_only_who_coordinates_is_a_coordinator() -> None:
    assert [role_of(mode) for mode in (Mode.COORDINATE, Mode.EXECUTE, Mode.PLAN)] == [
        Role.COORDINATOR,
        Role.WORKER,
        Role.WORKER,
    ]
