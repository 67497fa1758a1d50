"""Render worktrees, diffs and merges as text."""

from __future__ import annotations

from maestro.domain.conditions import Condition
from maestro.operations import worktrees as ops
from maestro.surfaces.cli.render.base import Rendered, more, size
from maestro.surfaces.cli.render.style import View, aligned, body, indented, line, paint

_COLORS = {
    Condition.GONE: "red",
    Condition.UNCOMMITTED: "yellow",
    Condition.ELSEWHERE: "yellow",
    Condition.IN_CONFLICT: "red",
    Condition.UNMERGED: "yellow",
    Condition.MERGED: "green",
}


def removed(value: ops.RemovedWorktrees, view: View) -> Rendered:
    lines = "".join(f"{line(worktree.branch)}  {line(worktree.path)}\n" for worktree in value.removed)
    kept = [f"{line(worktree.session)}: {line(worktree.why)}" for worktree in value.kept]
    return Rendered(lines, kept if lines or kept else ["no worktree to remove"])


def worktree_list(value: ops.WorktreeList, view: View) -> Rendered:
    rows = [
        [
            line(worktree.session),
            line(worktree.branch),
            _state_text(worktree),
            f"{worktree.ahead} ahead",
            size(worktree.size_bytes),
            line(worktree.path),
        ]
        for worktree in value.worktrees
    ]
    return Rendered(aligned(rows), more(value.cursor) if rows else ["no worktrees"])


def diff(value: ops.Diff, view: View) -> Rendered:
    return Rendered(body(value.text), [] if value.text else ["no changes"])


def merged(value: ops.MergedWorktree, view: View) -> Rendered:
    if value.commit is None:
        conflicts = "\n".join(indented(conflict) for conflict in value.conflicts)
        task = (
            f"{line(value.task)} is the task to resolve them: maestro task show '{line(value.task)}'\n"
            if value.task
            else ""
        )
        return Rendered(f"{line(value.branch)} conflicts with {line(value.into)}:\n{conflicts}\n{task}")
    notes = [f"{line(path)} has this branch checked out and is up to date" for path in value.checked_out_at]
    return Rendered(f"{line(value.branch)} is in {line(value.into)} as {value.commit[:12]}\n", notes)


def _state_text(worktree: ops.WorktreeState) -> str:
    text = worktree.state.replace("_", " ")
    if worktree.state is Condition.UNCOMMITTED:
        text += f" ({worktree.changed} changed, {worktree.untracked} new)"
    return paint(text, _COLORS.get(worktree.state, ""))
