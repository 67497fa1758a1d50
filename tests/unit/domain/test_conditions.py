"""One word for a worktree: what must be known first."""

from __future__ import annotations

from typing import Any

import pytest

from maestro.domain.conditions import Condition, condition

FINE: dict[str, Any] = {
    "is_clean": True,
    "is_elsewhere": False,
    "in_conflict": False,
    "ahead": 0,
    "has_commits": False,
}


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({}, Condition.CLEAN),
        ({"has_commits": True}, Condition.MERGED),
        ({"has_commits": True, "in_conflict": True}, Condition.MERGED),  # mended by someone else
        ({"has_commits": True, "ahead": 2}, Condition.UNMERGED),
        ({"has_commits": True, "ahead": 2, "in_conflict": True}, Condition.IN_CONFLICT),
        ({"ahead": 1, "in_conflict": True, "is_elsewhere": True}, Condition.ELSEWHERE),
        ({"is_clean": False, "is_elsewhere": True, "has_commits": True}, Condition.UNCOMMITTED),
        ({"is_clean": None, "ahead": 3}, Condition.GONE),
    ],
)
def test_the_first_that_is_true_of_it(facts: dict[str, Any], expected: Condition) -> None:
    assert condition(**(FINE | facts)) is expected
