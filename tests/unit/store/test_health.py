"""The known problems of a data directory are recorded in a file until they are solved or accepted."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from maestro.core import errors
from maestro.store.health import DamageFinding, DamageKind, StorageHealth
from maestro.store.layout import HEALTH
from maestro.testing.clock import FakeClock

AT = FakeClock().now()
LOST = DamageFinding(DamageKind.LOST_EVENTS, "events are lost")
DAMAGED = DamageFinding(DamageKind.DATABASE, "a page is damaged")
FILE = DamageFinding(DamageKind.FILES, "a file is missing")


@pytest.fixture
def health(tmp_path: Path) -> StorageHealth:
    return StorageHealth(tmp_path)


def test_a_problem_is_recorded_once_and_read_by_the_next_server(health: StorageHealth, tmp_path: Path) -> None:
    assert health.record_finding(DAMAGED, at=AT)
    assert not health.record_finding(DamageFinding(DamageKind.DATABASE, "another page"), at=AT)
    health.set_ask(DamageKind.DATABASE, "ask_1")
    (known,) = StorageHealth(tmp_path).problems
    assert (known.kind, known.text, known.found_at, known.ask_id) == (DamageKind.DATABASE, DAMAGED.text, AT, "ask_1")


def test_a_check_removes_solved_problems_but_never_a_loss_of_events(health: StorageHealth, tmp_path: Path) -> None:
    for finding in (LOST, DAMAGED):
        health.record_finding(finding, at=AT)
    later = AT + timedelta(days=1)
    (mended,) = health.record_check([FILE], at=later)
    assert mended.kind is DamageKind.DATABASE
    assert [problem.kind for problem in health.problems] == [DamageKind.LOST_EVENTS, DamageKind.FILES]
    assert health.checked_at == StorageHealth(tmp_path).checked_at == later


def test_a_store_with_lost_events_is_refused_until_the_loss_is_accepted(health: StorageHealth) -> None:
    health.require_no_lost_events()
    health.record_finding(LOST, at=AT)
    with pytest.raises(errors.StorageDamaged, match="events are lost"):
        health.require_no_lost_events()
    health.forget_problem(DamageKind.LOST_EVENTS)
    health.require_no_lost_events()


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b'{"problems": 3}'])
def test_an_unreadable_health_file_is_treated_as_missing(tmp_path: Path, content: bytes) -> None:
    (tmp_path / HEALTH).write_bytes(content)
    assert StorageHealth(tmp_path).problems == []
