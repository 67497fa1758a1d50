"""Where the gates of a task run: where its work was done, or what came together of the work below it."""

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


class _Place(msgspec.Struct, frozen=True):
    directory: str
    branch: str | None = None  # not what lies in the directory, but this branch of its repository


@contextlib.asynccontextmanager
async def place_of(store: Store, task: Task, sandbox: Sandbox) -> AsyncIterator[str]:
    """The directory for a task's gates, for as long as they run."""
    found = await store.read(lambda tx: _found(tx, task), quick=True)
    if found is None:
        raise errors.NotFound("There is no checkout to run it in.")
    commit = await worktrees.tip(found.directory, found.branch) if found.branch else None
    if commit is None:
        yield found.directory
        return
    async with worktrees.checkout(found.directory, at=commit) as tree:
        allowed = await setup.read_settings(store, task.project_id, found.directory)
        if allowed.refusal:
            raise errors.Conflict(allowed.refusal)  # without its set-up the tree proves nothing about the work
        prepared = await worktrees.prepare(tree, settings=allowed.settings, source=found.directory, sandbox=sandbox)
        if prepared.setup is not None and not prepared.setup.is_ok:
            raise errors.Conflict(prepared.setup.failure[: limits.report_tail_chars_max])
        yield tree


def _found(tx: Tx, task: Task) -> _Place | None:
    """The holder's own directory; for what nobody holds, its run's branch; else the project's first checkout."""
    spawn = tx.spawns.get(task.holder) if task.holder else None
    if spawn is not None:
        return _Place(spawn.directory)
    session = tx.sessions.get(task.holder) if task.holder else None
    workspace = tx.projects.workspace(session.workspace_id) if session and session.workspace_id else None
    if workspace is not None:
        return _Place(workspace.path)
    run = _run_above(tx, task)
    if run is not None:
        return _Place(run.directory, run.branch)
    found = tx.projects.workspaces(task.project_id, limit=1)
    return _Place(found[0].path) if found else None


def _run_above(tx: Tx, task: Task) -> Run | None:
    """The run that a task is of: its own, or that of the nearest task above it."""
    at: Task | None = task
    for _ in range(limits.task_depth_max):
        run = tx.runs.last_of_task(at.id) if at else None
        if run is not None or at is None:
            return run
        at = tx.tasks.get(at.parent_id) if at.parent_id else None
    return None
