"""Stored ranks of priorities do not depend on the order of the enum's members."""

from __future__ import annotations

import msgspec
import pytest

from maestro.domain.priorities import LOWEST_RANK, Priority, RankedEnum
from maestro.store.decoding import Decoder


def test_the_stored_ranks_are_fixed() -> None:
    stored = {"critical": 0, "high": 1, "normal": 2, "low": 3}
    assert {priority.value: priority.rank for priority in Priority}.items() >= stored.items()
    assert len({priority.rank for priority in Priority}) == len(Priority)
    assert max(priority.rank for priority in Priority) == LOWEST_RANK


def test_a_priority_is_written_and_read_by_its_name() -> None:
    assert Priority("high") is Priority.HIGH and f"{Priority.HIGH}" == "high"
    assert msgspec.json.decode(b'"low"', type=Priority) is Priority.LOW
    assert msgspec.json.encode(Priority.LOW) == b'"low"'
    with pytest.raises(ValueError):
        Priority("urgent")


class Extended(RankedEnum):
    """The priorities with a new member `URGENT` in the middle."""

    CRITICAL = "critical", 0
    HIGH = "high", 1
    URGENT = "urgent", 9
    NORMAL = "normal", 2
    LOW = "low", 3


class Row(msgspec.Struct, frozen=True):
    priority: Extended


def test_a_new_priority_between_others_does_not_change_stored_ranks() -> None:
    assert all(Extended(priority.value).rank == priority.rank for priority in Priority)
    decode = Decoder(Row).for_columns(("priority",))
    for priority in Priority:
        assert decode((priority.rank,)).priority.value == priority.value, "The stored row has another priority now."
    assert decode((9,)).priority is Extended.URGENT


def test_a_priority_without_a_rank_is_refused() -> None:
    with pytest.raises(TypeError, match="has no rank"):
        RankedEnum("Unranked", {"LOW": "low"})
