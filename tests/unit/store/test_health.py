"""The known problems of a data directory."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from maestro.core import errors
from maestro.store.health import Finding, Health, Kind
from maestro.store.layout import HEALTH
from maestro.testing.clock import FakeClock

AT = FakeClock().now()
LOST = Finding(Kind.LOST_EVENTS, "events are lost")
DAMAGED = Finding(Kind.DATABASE, "a page is damaged")
FILE = Finding(Kind.FILES, "a file is missing")


@pytest.fixture
def health(tmp_path: Path) -> Health:
    return Health(tmp_path)


def test_a_problem_is_noted_once_and_outlives_the_server(health: Health, tmp_path: Path) -> None:
    assert health.note(DAMAGED, at=AT)
    assert not health.note(Finding(Kind.DATABASE, "another page"), at=AT)
    health.set_ask(Kind.DATABASE, "req_1")
    (known,) = Health(tmp_path).problems
    assert (known.kind, known.text, known.found_at, known.ask_id) == (Kind.DATABASE, DAMAGED.text, AT, "req_1")


def test_a_check_forgets_what_it_no_longer_finds_but_never_a_loss(health: Health, tmp_path: Path) -> None:
    for finding in (LOST, DAMAGED):
        health.note(finding, at=AT)
    later = AT + timedelta(days=1)
    (mended,) = health.take_check([FILE], at=later)
    assert mended.kind is Kind.DATABASE
    assert [problem.kind for problem in health.problems] == [Kind.LOST_EVENTS, Kind.FILES]
    assert health.checked_at == Health(tmp_path).checked_at == later


def test_a_store_that_lost_events_is_not_whole_until_the_loss_is_accepted(health: Health) -> None:
    health.require_no_loss()
    health.note(LOST, at=AT)
    with pytest.raises(errors.StorageDamaged, match="events are lost"):
        health.require_no_loss()
    health.clear(Kind.LOST_EVENTS)
    health.require_no_loss()


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b'{"problems": 3}'])
def test_a_file_that_cannot_be_read_counts_as_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / HEALTH).write_bytes(content)
    assert Health(tmp_path).problems == []
