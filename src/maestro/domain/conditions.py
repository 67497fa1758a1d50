"""What one word says of a worktree: the first of these that is true of it, what must be known first."""

from __future__ import annotations

import enum


class Condition(enum.StrEnum):
    """How a worktree stands, for whoever has to decide what becomes of it."""

    GONE = "gone"  # its folder is not there any more
    UNCOMMITTED = "uncommitted"  # something is in no commit
    ELSEWHERE = "elsewhere"  # its commits are not on its branch
    IN_CONFLICT = "in_conflict"  # it could not be merged, and a task is to mend that
    UNMERGED = "unmerged"  # it has commits that are not where they are to go
    MERGED = "merged"  # all that it has is there
    CLEAN = "clean"  # nothing was ever done in it


def condition(
    *, is_clean: bool | None, is_elsewhere: bool, in_conflict: bool, ahead: int, has_commits: bool
) -> Condition:
    """`is_clean` is None where there is nothing to look at; `has_commits`: since its base, or merged ones."""
    if is_clean is None:
        return Condition.GONE
    if not is_clean:
        return Condition.UNCOMMITTED
    if is_elsewhere:
        return Condition.ELSEWHERE
    if in_conflict and ahead:
        return Condition.IN_CONFLICT
    if ahead:
        return Condition.UNMERGED
    return Condition.MERGED if has_commits else Condition.CLEAN
