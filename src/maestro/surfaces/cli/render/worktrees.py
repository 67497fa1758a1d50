"""Render worktrees, diffs and merges as text."""

from __future__ import annotations

from maestro.domain.conditions import WorktreeCondition
from maestro.operations import worktrees as ops
from maestro.surfaces.cli.render.base import Rendered, format_size, next_page_note
from maestro.surfaces.cli.render.style import View, align_rows, indent_text, paint, safe_body, safe_line

_COLORS = {
    WorktreeCondition.GONE: "red",
    WorktreeCondition.UNCOMMITTED: "yellow",
    WorktreeCondition.ELSEWHERE: "yellow",
    WorktreeCondition.IN_CONFLICT: "red",
    WorktreeCondition.UNMERGED: "yellow",
    WorktreeCondition.MERGED: "green",
}


def render_removed_worktrees(value: ops.RemovedWorktrees, view: View) -> Rendered:
    lines = "".join(f"{safe_line(worktree.branch)}  {safe_line(worktree.path)}\n" for worktree in value.removed)
    kept = [f"{safe_line(worktree.session)}: {safe_line(worktree.reason)}" for worktree in value.kept]
    return Rendered(lines, kept if lines or kept else ["no worktree to remove"])


def render_worktree_list(value: ops.WorktreeList, view: View) -> Rendered:
    rows = [
        [
            safe_line(worktree.session),
            safe_line(worktree.branch),
            _state_text(worktree),
            f"{worktree.ahead} ahead",
            format_size(worktree.size_bytes),
            safe_line(worktree.path),
        ]
        for worktree in value.worktrees
    ]
    return Rendered(align_rows(rows), next_page_note(value.cursor) if rows else ["no worktrees"])


def render_diff(value: ops.WorktreeDiff, view: View) -> Rendered:
    return Rendered(safe_body(value.text), [] if value.text else ["no changes"])


def render_merged_worktree(value: ops.MergedWorktree, view: View) -> Rendered:
    if value.commit is None:
        conflicts = "\n".join(indent_text(conflict) for conflict in value.conflicts)
        task = (
            f"{safe_line(value.task)} is the task to resolve them: maestro task show '{safe_line(value.task)}'\n"
            if value.task
            else ""
        )
        return Rendered(f"{safe_line(value.branch)} conflicts with {safe_line(value.into)}:\n{conflicts}\n{task}")
    notes = [f"{safe_line(path)} has this branch checked out and is up to date" for path in value.checked_out_at]
    return Rendered(f"{safe_line(value.branch)} is in {safe_line(value.into)} as {value.commit[:12]}\n", notes)


def _state_text(worktree: ops.WorktreeState) -> str:
    text = worktree.state.replace("_", " ")
    if worktree.state is WorktreeCondition.UNCOMMITTED:
        text += f" ({worktree.changed} changed, {worktree.untracked} new)"
    return paint(text, _COLORS.get(worktree.state, ""))
