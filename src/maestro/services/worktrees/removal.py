"""Remove worktrees on request: the worktree of one session, all merged worktrees, or all worktrees of a run.

A worktree whose removal would lose work stays. The answer names the reason, except with `--merged`, which asks only
for worktrees without such work.
"""

from __future__ import annotations

from maestro.core import errors, limits
from maestro.domain.callers import Caller
from maestro.domain.projects import Project
from maestro.domain.sessions import Session
from maestro.domain.spawns import SessionWorktree
from maestro.operations import worktrees as ops
from maestro.services.access import session_relations
from maestro.services.access.find_run import find_run
from maestro.services.access.scope import find_readable_project
from maestro.services.worktrees.lifecycle import SessionWorktrees
from maestro.store.base import Store, Tx

_ACTION = "remove the worktree of"


class WorktreeRemoval:
    """The operation `worktree remove`."""

    def __init__(self, store: Store, worktrees: SessionWorktrees) -> None:
        self._store = store
        self._worktrees = worktrees

    async def remove_worktrees(self, caller: Caller, request: ops.RemoveWorktrees) -> ops.RemovedWorktrees:
        if request.id is not None:
            if request.merged or request.run is not None:
                raise errors.Invalid(
                    "A session's name cannot be combined with --merged or --run.",
                    hint="Give a session's name, or the options without a name.",
                )
            return await self._remove_named(caller, request, request.id)
        if not request.merged and request.run is None:
            raise errors.Invalid("No worktree was named.", hint="Give a session's name, --merged, or --run RUN.")
        removed: list[SessionWorktree] = []
        kept: list[ops.KeptWorktree] = []
        for session, worktree in await self._store.read(lambda tx: _removable_worktrees(tx, caller, request)):
            try:
                await self._remove_ended(session, worktree, keep_branch=request.keep_branch)
                removed.append(worktree)
            except errors.Conflict as error:
                kept.append(ops.KeptWorktree(session=session.name, path=worktree.path, reason=error.message))
        return ops.RemovedWorktrees(removed=removed, kept=[] if request.merged else kept)

    async def _remove_named(self, caller: Caller, request: ops.RemoveWorktrees, name: str) -> ops.RemovedWorktrees:
        session, worktree = await self._worktrees.find_worktree(caller, name, project=request.project, action=_ACTION)
        await self._remove_ended(session, worktree, keep_branch=request.keep_branch)
        return ops.RemovedWorktrees(removed=[worktree])

    async def _remove_ended(self, session: Session, worktree: SessionWorktree, *, keep_branch: bool) -> None:
        """Remove the worktree of an ended session; refuse for a live session."""
        if session.ended_at is None:
            message = f"{session.name} still works in {worktree.path}."
            raise errors.Conflict(message, hint=f"Stop the session first: maestro session stop {session.name}")
        await self._worktrees.remove_worktree(worktree, keep_branch=keep_branch)


def _removable_worktrees(
    tx: Tx, caller: Caller, request: ops.RemoveWorktrees
) -> list[tuple[Session, SessionWorktree]]:
    """Return the worktrees of the run or project that the caller may remove."""
    run = find_run(tx, caller, request.run, project=request.project) if request.run is not None else None
    project_id = run.project_id if run else _readable_project(tx, caller, request).id
    candidates: list[tuple[Session, SessionWorktree]] = []
    after = ""
    while True:
        page = tx.worktrees.of_project(project_id, after=after, limit=limits.page_items_max)
        for worktree in page:
            session, spawn = tx.sessions.get(worktree.session_id), tx.spawns.get(worktree.session_id)
            if session is not None and (run is None or (spawn is not None and spawn.run_id == run.id)):
                candidates.append((session, worktree))
        if len(page) < limits.page_items_max:
            break
        after = page[-1].session_id
    return [(session, worktree) for session, worktree in candidates if _may_remove(tx, caller, session)]


def _readable_project(tx: Tx, caller: Caller, request: ops.RemoveWorktrees) -> Project:
    hint = "Only agents of a project may remove its worktrees."
    return find_readable_project(tx, caller, request.project, action="removes the worktrees", hint=hint)


def _may_remove(tx: Tx, caller: Caller, session: Session) -> bool:
    try:
        session_relations.require_authority(tx, caller, session, action=_ACTION)
    except errors.NotPermitted:
        return False
    return True
