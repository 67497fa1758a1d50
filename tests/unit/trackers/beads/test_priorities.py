"""Each priority has a number in `bd`, and each number of `bd` gives a priority."""

from __future__ import annotations

import pytest

from maestro.domain.priorities import Priority
from maestro.trackers.beads.priorities import priority_number, priority_of_number


@pytest.mark.parametrize("priority", list(Priority))
def test_the_number_of_a_priority_gives_the_same_priority(priority: Priority) -> None:
    assert priority_of_number(priority_number(priority)) is priority


@pytest.mark.parametrize(("number", "priority"), [(-1, Priority.CRITICAL), (4, Priority.LOW), (99, Priority.LOW)])
def test_an_unknown_number_gives_the_nearest_priority(number: int, priority: Priority) -> None:
    assert priority_of_number(number) is priority
