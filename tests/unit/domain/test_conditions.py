"""The condition of a worktree is the condition that needs attention first."""

from __future__ import annotations

from typing import Any

import pytest

from maestro.domain.conditions import WorktreeCondition, worktree_condition

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
        ({}, WorktreeCondition.CLEAN),
        ({"has_commits": True}, WorktreeCondition.MERGED),
        ({"has_commits": True, "in_conflict": True}, WorktreeCondition.MERGED),  # the conflict was resolved elsewhere
        ({"has_commits": True, "ahead": 2}, WorktreeCondition.UNMERGED),
        ({"has_commits": True, "ahead": 2, "in_conflict": True}, WorktreeCondition.IN_CONFLICT),
        ({"ahead": 1, "in_conflict": True, "is_elsewhere": True}, WorktreeCondition.ELSEWHERE),
        ({"is_clean": False, "is_elsewhere": True, "has_commits": True}, WorktreeCondition.UNCOMMITTED),
        ({"is_clean": None, "ahead": 3}, WorktreeCondition.GONE),
    ],
)
def test_the_condition_of_a_worktree_is_the_condition_that_needs_attention_first(
    facts: dict[str, Any], expected: WorktreeCondition
) -> None:
    assert worktree_condition(**(FINE | facts)) is expected
