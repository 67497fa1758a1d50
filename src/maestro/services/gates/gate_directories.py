"""Find the directory in which the gates of a task run: the holder's directory, or a checkout of the run's branch."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

import msgspec

from maestro.core import errors, limits
from maestro.domain.runs import Run
from maestro.domain.sandboxes import Sandbox
from maestro.domain.tasks import Task
from maestro.git import worktrees
from maestro.services.worktrees import setup
from maestro.store.base import Store, Tx


class _Location(msgspec.Struct, frozen=True):
    directory: str
    branch: str | None = None  # if set, gates run in a checkout of this branch, not in the directory itself


@contextlib.asynccontextmanager
async def gate_directory(store: Store, task: Task, sandbox: Sandbox) -> AsyncIterator[str]:
    """Yield the directory for the gates of the task. A temporary checkout exists only until the gates are done."""
    location = await store.read(lambda tx: _locate(tx, task), quick=True)
    if location is None:
        raise errors.NotFound("The project has no checkout in which the gates of the task can run.")
    commit = await worktrees.branch_tip(location.directory, location.branch) if location.branch else None
    if commit is None:
        yield location.directory
        return
    async with worktrees.temporary_checkout(location.directory, at=commit) as tree:
        allowed = await setup.read_settings(store, task.project_id, location.directory)
        if allowed.refusal:
            raise errors.Conflict(allowed.refusal)  # without its set-up the tree proves nothing about the work
        prepared = await worktrees.prepare_worktree(
            tree, settings=allowed.settings, source=location.directory, sandbox=sandbox
        )
        if prepared.setup is not None and not prepared.setup.is_ok:
            raise errors.Conflict(prepared.setup.failure[: limits.report_tail_chars_max])
        yield tree


def _locate(tx: Tx, task: Task) -> _Location | None:
    """Return the holder's directory; for a task without a holder, the run's branch; else the first checkout."""
    spawn = tx.spawns.get(task.holder) if task.holder else None
    if spawn is not None:
        return _Location(spawn.directory)
    session = tx.sessions.get(task.holder) if task.holder else None
    workspace = tx.projects.get_workspace(session.workspace_id) if session and session.workspace_id else None
    if workspace is not None:
        return _Location(workspace.path)
    run = _run_above(tx, task)
    if run is not None:
        return _Location(run.directory, run.branch)
    workspaces = tx.projects.workspaces_of(task.project_id, limit=1)
    return _Location(workspaces[0].path) if workspaces else None


def _run_above(tx: Tx, task: Task) -> Run | None:
    """Return the last run of the task, or of the nearest task above it that had a run."""
    ancestor: Task | None = task
    for _ in range(limits.task_depth_max):
        run = tx.runs.last_of_task(ancestor.id) if ancestor else None
        if run is not None or ancestor is None:
            return run
        ancestor = tx.tasks.get(ancestor.parent_id) if ancestor.parent_id else None
    return None
