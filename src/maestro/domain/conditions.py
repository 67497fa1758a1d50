"""Decide the condition of a worktree. Of several conditions the one that needs attention first counts."""

from __future__ import annotations

import enum


class WorktreeCondition(enum.StrEnum):
    """The condition of a worktree, for the decision whether to merge or to remove it."""

    GONE = "gone"  # the worktree's folder does not exist
    UNCOMMITTED = "uncommitted"  # the worktree has changes that are in no commit
    ELSEWHERE = "elsewhere"  # the worktree's commits are not on its branch
    IN_CONFLICT = "in_conflict"  # the last merge failed, and a task exists to resolve the conflict
    UNMERGED = "unmerged"  # the worktree has commits that are not in the target branch
    MERGED = "merged"  # all commits of the worktree are in the target branch
    CLEAN = "clean"  # the worktree has never had changes or commits of its own


def worktree_condition(
    *, is_clean: bool | None, is_elsewhere: bool, in_conflict: bool, ahead: int, has_commits: bool
) -> WorktreeCondition:
    """Return the condition of a worktree.

    `is_clean` is None if the worktree's folder does not exist. `has_commits` counts commits since the base, and
    merged commits.
    """
    if is_clean is None:
        return WorktreeCondition.GONE
    if not is_clean:
        return WorktreeCondition.UNCOMMITTED
    if is_elsewhere:
        return WorktreeCondition.ELSEWHERE
    if in_conflict and ahead:
        return WorktreeCondition.IN_CONFLICT
    if ahead:
        return WorktreeCondition.UNMERGED
    return WorktreeCondition.MERGED if has_commits else WorktreeCondition.CLEAN
