"""Signals decide the status of a session, when a session is lost, and how fresh its coordinator is."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta

import pytest

from maestro.domain.callers import Role
from maestro.domain.sessions import (
    ACTIVE_STATUSES,
    ENDED_STATUSES,
    SessionMode,
    SessionStatus,
    StatusSignal,
    StatusSource,
    contact_of,
    decide_status,
    is_lost,
    role_of,
)
from maestro.testing.factories import make_session

AT = datetime(2026, 1, 1, 12, tzinfo=UTC)


def said(source: StatusSource, status: SessionStatus, at: int, until: int | None = None) -> StatusSignal:
    """Return a signal of `at` seconds after AT that is valid until `until` seconds after AT."""
    ends = AT + timedelta(seconds=until) if until is not None else None
    return StatusSignal(source, status, AT + timedelta(seconds=at), ends)


def test_the_newest_valid_signal_decides_the_status_of_a_session() -> None:
    registered = said(StatusSource.REPORT, SessionStatus.WORKING, 0)
    idle = said(StatusSource.HEARTBEAT, SessionStatus.IDLE, 10, until=60)
    asks = said(StatusSource.HOOK, SessionStatus.NEEDS_INPUT, 5, until=300)
    for signals in itertools.permutations([registered, idle, asks]):
        assert decide_status(signals, AT + timedelta(seconds=20)) is idle
        assert decide_status(signals, AT + timedelta(seconds=60)) is asks  # a signal is not valid at its end
        assert decide_status(signals, AT + timedelta(seconds=301)) is registered


def test_the_newest_signal_decides_the_status_when_no_signal_is_valid() -> None:
    old, older = (
        said(StatusSource.HEARTBEAT, SessionStatus.IDLE, 10, until=20),
        said(StatusSource.HOOK, SessionStatus.WORKING, 5, until=30),
    )
    assert decide_status([old, older], AT + timedelta(hours=1)) is old


@pytest.mark.parametrize(("over", "heard", "lives"), [*itertools.product([True, False], repeat=3)])
def test_a_session_is_lost_without_a_lease_a_sign_of_life_and_a_living_process(
    over: bool, heard: bool, lives: bool
) -> None:
    lost = is_lost(is_lease_over=over, has_sign_of_life=heard, is_process_alive=lives)
    assert lost == ((over, heard, lives) == (True, False, False))


def test_a_coordinator_is_fresh_for_a_limited_time_after_its_last_sign_of_life() -> None:
    boss = make_session(name="boss", mode=SessionMode.COORDINATE, seen_at=AT)
    assert contact_of(boss, at=AT + timedelta(seconds=120), seconds=120).fresh
    stale = contact_of(boss, at=AT + timedelta(seconds=121), seconds=120)
    assert not stale.fresh and (stale.name, stale.last_seen) == ("boss", AT)
    ended = make_session(seen_at=AT, ended_at=AT, status=SessionStatus.STOPPED)
    assert not contact_of(ended, at=AT, seconds=120).fresh


def test_every_status_of_a_session_is_either_ended_or_active() -> None:
    assert set(SessionStatus) == ENDED_STATUSES | ACTIVE_STATUSES and not ENDED_STATUSES & ACTIVE_STATUSES
    assert {status.value for status in ENDED_STATUSES} == {"completed", "failed", "stopped", "lost"}


def test_only_a_session_in_coordinate_mode_has_the_role_coordinator() -> None:
    assert [role_of(mode) for mode in (SessionMode.COORDINATE, SessionMode.EXECUTE, SessionMode.PLAN)] == [
        Role.COORDINATOR,
        Role.WORKER,
        Role.WORKER,
    ]
