"""Worktrees, diffs and merges as text."""

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
    gone = "".join(f"{line(one.branch)}  {line(one.path)}\n" for one in value.removed)
    kept = [f"{line(one.session)}: {line(one.why)}" for one in value.kept]
    return Rendered(gone, kept if gone or kept else ["nothing to remove"])


def worktree_list(value: ops.WorktreeList, view: View) -> Rendered:
    rows = [
        [line(one.session), line(one.branch), _state(one), f"{one.ahead} ahead", size(one.size_bytes), line(one.path)]
        for one in value.worktrees
    ]
    return Rendered(aligned(rows), more(value.cursor) if rows else ["no worktrees"])


def diff(value: ops.Diff, view: View) -> Rendered:
    return Rendered(body(value.text), [] if value.text else ["nothing was changed"])


def merged(value: ops.MergedWorktree, view: View) -> Rendered:
    if value.commit is None:
        conflicts = "\n".join(indented(one) for one in value.conflicts)
        task = f"{line(value.task)} is to mend it: maestro task show '{line(value.task)}'\n" if value.task else ""
        return Rendered(f"{line(value.branch)} conflicts with {line(value.into)}:\n{conflicts}\n{task}")
    notes = [f"{line(place)} has this branch checked out, and is up to date" for place in value.checked_out_at]
    return Rendered(f"{line(value.branch)} is in {line(value.into)} as {value.commit[:12]}\n", notes)


def _state(one: ops.WorktreeState) -> str:
    words = one.state.replace("_", " ")
    if one.state is Condition.UNCOMMITTED:
        words += f" ({one.changed} changed, {one.untracked} new)"
    return paint(words, _COLORS.get(one.state, ""))
