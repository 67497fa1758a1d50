"""Removing worktrees by hand: one, all that are merged, or all of a run. What would be lost stays, and is told."""

from __future__ import annotations

from maestro.core import errors, limits
from maestro.domain.callers import Caller
from maestro.domain.projects import Project
from maestro.domain.sessions import Session
from maestro.domain.spawns import Worktree
from maestro.operations import worktrees as ops
from maestro.services.runs.records import run_of
from maestro.services.scope import readable_project
from maestro.services.sessions import kin
from maestro.services.worktrees.keeping import Worktrees
from maestro.store.base import Store, Tx

_WHAT = "remove the worktree of"


class Clearing:
    """What becomes of worktrees when someone says that they may go."""

    def __init__(self, store: Store, worktrees: Worktrees) -> None:
        self._store = store
        self._worktrees = worktrees

    async def remove(self, caller: Caller, request: ops.RemoveWorktrees) -> ops.RemovedWorktrees:
        if request.id is not None:
            if request.merged or request.run is not None:
                raise errors.Invalid("Say which one, or --merged, or --run; not both.")
            return await self._one(caller, request, request.id)
        if not request.merged and request.run is None:
            raise errors.Invalid("Which worktree?", hint="A session's name, --merged, or --run RUN.")
        removed: list[Worktree] = []
        kept: list[ops.KeptWorktree] = []
        for session, found in await self._store.read(lambda tx: _chosen(tx, caller, request)):
            try:
                await self._take_away(session, found, keep_branch=request.keep_branch)
                removed.append(found)
            except errors.Conflict as error:
                kept.append(ops.KeptWorktree(session=session.name, path=found.path, why=error.message))
        return ops.RemovedWorktrees(removed=removed, kept=[] if request.merged else kept)

    async def _one(self, caller: Caller, request: ops.RemoveWorktrees, name: str) -> ops.RemovedWorktrees:
        session, found = await self._worktrees.named(caller, name, project=request.project, what=_WHAT)
        await self._take_away(session, found, keep_branch=request.keep_branch)
        return ops.RemovedWorktrees(removed=[found])

    async def _take_away(self, session: Session, found: Worktree, *, keep_branch: bool) -> None:
        if session.ended_at is None:
            raise errors.Conflict(f"{session.name} still works there.", hint=f"maestro session stop {session.name}")
        await self._worktrees.take_away(found, keep_branch=keep_branch)


def _chosen(tx: Tx, caller: Caller, request: ops.RemoveWorktrees) -> list[tuple[Session, Worktree]]:
    """Those that are meant and that the caller may remove."""
    run = run_of(tx, caller, request.run, project=request.project) if request.run is not None else None
    project_id = run.project_id if run else _project(tx, caller, request).id
    found: list[tuple[Session, Worktree]] = []
    after = ""
    while True:
        page = tx.worktrees.of_project(project_id, after=after, limit=limits.page_items_max)
        for one in page:
            session, spawn = tx.sessions.get(one.session_id), tx.spawns.get(one.session_id)
            if session is not None and (run is None or (spawn is not None and spawn.run_id == run.id)):
                found.append((session, one))
        if len(page) < limits.page_items_max:
            break
        after = page[-1].session_id
    return [(session, one) for session, one in found if _may(tx, caller, session)]


def _project(tx: Tx, caller: Caller, request: ops.RemoveWorktrees) -> Project:
    hint = "Only agents of a project remove its worktrees."
    return readable_project(tx, caller, request.project, what="removes the worktrees", hint=hint)


def _may(tx: Tx, caller: Caller, session: Session) -> bool:
    try:
        kin.may_act_on(tx, caller, session, what=_WHAT)
    except errors.NotPermitted:
        return False
    return True
