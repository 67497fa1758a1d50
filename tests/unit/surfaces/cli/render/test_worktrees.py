"""Worktrees, diffs and merges are rendered as text with notes."""

from __future__ import annotations

from typing import Any

from tests.unit.surfaces.cli.render.conftest import AT, rendered, text_of

from maestro.domain.conditions import WorktreeCondition
from maestro.domain.spawns import SessionWorktree
from maestro.operations import worktrees as ops

WORKTREE: dict[str, Any] = {
    "session_id": "ses_1", "project_id": "prj_1", "repository": "/src/vc", "path": "/wt/parser", "branch": "parser",
    "base_commit": "abc", "merges_into": None, "merged_into": None, "merged_at": None, "removed_at": None,
    "created_at": AT,
}  # fmt: skip


def state(condition: WorktreeCondition) -> ops.WorktreeState:
    return ops.WorktreeState(
        **WORKTREE, session="ses", is_clean=False, changed=2, untracked=3, ahead=4, size_bytes=2048, state=condition
    )


def merged(**fields: Any) -> ops.MergedWorktree:
    values: dict[str, Any] = {"session_id": "ses_1", "branch": "parser", "into": "main", "commit": None}
    return ops.MergedWorktree(**{**values, **fields})


def test_removed_worktrees_are_listed_and_kept_worktrees_are_noted() -> None:
    kept = ops.KeptWorktree(session="lexer", path="/wt/lexer", reason="has changes")
    shown = rendered(ops.RemovedWorktrees(removed=[SessionWorktree(**WORKTREE)], kept=[kept]))
    assert (shown.out, shown.notes) == ("parser  /wt/parser\n", ["lexer: has changes"])
    assert rendered(ops.RemovedWorktrees(removed=[], kept=[kept])).notes == ["lexer: has changes"]
    assert rendered(ops.RemovedWorktrees(removed=[])).notes == ["no worktree to remove"]


def test_the_list_of_worktrees_counts_changes_only_for_uncommitted_worktrees() -> None:
    uncommitted = text_of(ops.WorktreeList(worktrees=[state(WorktreeCondition.UNCOMMITTED)]))
    assert uncommitted == "ses  parser  uncommitted (2 changed, 3 new)  4 ahead  2.0 KiB  /wt/parser\n"
    in_conflict = text_of(ops.WorktreeList(worktrees=[state(WorktreeCondition.IN_CONFLICT)]))
    assert "  in conflict  4 ahead" in in_conflict


def test_the_notes_of_the_list_of_worktrees_name_the_next_page_or_tell_that_it_is_empty() -> None:
    full = ops.WorktreeList(worktrees=[state(WorktreeCondition.MERGED)], cursor="abc")
    assert rendered(full).notes == ["more results: --cursor abc"]
    assert rendered(ops.WorktreeList(worktrees=[])).notes == ["no worktrees"]


def test_a_note_tells_that_a_diff_is_empty() -> None:
    def diff(text: str) -> ops.WorktreeDiff:
        return ops.WorktreeDiff(session_id="ses_1", branch="parser", base_commit="abc", text=text)

    assert rendered(diff("")).notes == ["no changes"]
    shown = rendered(diff("+a\x1b[2J\n"))
    assert (shown.out, shown.notes) == ("+a\\x1b[2J\n", [])


def test_a_merge_names_its_commit_and_the_checkouts_of_the_target_branch() -> None:
    shown = rendered(merged(commit="0123456789abcdef", checked_out_at=["/src/vc"]))
    assert shown.out == "parser is in main as 0123456789ab\n"
    assert shown.notes == ["/src/vc has this branch checked out and is up to date"]


def test_a_refused_merge_shows_the_conflicts_and_the_task_for_their_resolution() -> None:
    shown = text_of(merged(conflicts=["a.py", "b.py"], task="vc#9"))
    assert shown.startswith("parser conflicts with main:\n  a.py\n  b.py\n")
    assert "maestro task show 'vc#9'" in shown
    assert "task" not in text_of(merged(conflicts=["a.py"]))
