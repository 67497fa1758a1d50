"""The mark stores the number of the last event beside the database, and a damaged mark is not read."""

from __future__ import annotations

from pathlib import Path

import pytest

from maestro.store.health import find_lost_events
from maestro.store.mark import Mark


@pytest.fixture
def mark(tmp_path: Path) -> Mark:
    return Mark(tmp_path / "maestro.mark")


def test_a_written_mark_is_read_back_unchanged(mark: Mark) -> None:
    assert mark.read() is None
    for seq in (0, 7, 10**15, 3):
        mark.write(seq)
        assert mark.read() == seq


@pytest.mark.parametrize("length", range(30))
def test_an_incomplete_mark_is_not_read(mark: Mark, tmp_path: Path, length: int) -> None:
    """Check each length that a crash can leave: a number that was never written must not be read."""
    mark.write(12345)
    file = tmp_path / "maestro.mark"
    file.write_bytes(file.read_bytes()[:length])
    assert mark.read() is None


def test_a_changed_mark_is_not_read_until_it_is_written_again(mark: Mark, tmp_path: Path) -> None:
    mark.write(12345)
    file = tmp_path / "maestro.mark"
    file.write_bytes(file.read_bytes().replace(b"12345", b"92345"))
    assert mark.read() is None
    mark.write(12346)
    assert mark.read() == 12346


def test_a_mark_that_cannot_be_written_raises_no_error(tmp_path: Path) -> None:
    Mark(tmp_path / "nowhere" / "maestro.mark").write(1)


@pytest.mark.parametrize(
    ("last", "marked", "is_lost"), [(5, None, False), (5, 5, False), (6, 5, False), (4, 5, True)]
)
def test_only_a_store_behind_its_mark_has_lost_events(last: int, marked: int | None, is_lost: bool) -> None:
    assert (find_lost_events(last, marked) is not None) is is_lost
