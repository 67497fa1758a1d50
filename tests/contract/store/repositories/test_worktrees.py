"""The repository of worktrees: the checkouts that Maestro made for sessions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any

import msgspec

from maestro.domain.recovery import RecoveryStep, SessionRecovery
from maestro.domain.sessions import Session, SessionStatus, StatusSource
from maestro.domain.spawns import SessionWorktree, Spawn
from maestro.store.base import Store, Tx
from maestro.testing.clock import FakeClock

Enter = Callable[..., Awaitable[Session]]
Launch = Callable[..., Awaitable[Spawn]]
VC = "prj_00000000000000000000000000"


async def insert_worktree(store: Store, session: Session, **fields: Any) -> SessionWorktree:
    values: dict[str, Any] = {
        "session_id": session.id,
        "project_id": VC,
        "repository": "/src/vc ✓",
        "path": f"/worktrees/{session.name}",
        "branch": f"maestro/{session.name}",
        "base_commit": "abc",
        "merges_into": None,
        "merged_into": None,
        "merged_at": None,
        "removed_at": None,
        "created_at": session.created_at,
    }
    worktree = SessionWorktree(**(values | fields))
    await store.write(lambda tx: tx.worktrees.insert(worktree))
    return worktree


async def test_a_worktree_keeps_every_field(store: Store, enter: Enter, clock: FakeClock) -> None:
    session = await enter("w")
    worktree = await insert_worktree(store, session, merges_into="main")
    assert await store.read(lambda tx: tx.worktrees.get(session.id)) == worktree

    def change(tx: Tx) -> None:
        tx.worktrees.set_conflict_task(session.id, task_id="tsk_1")
        tx.worktrees.mark_merged(session.id, into="main", at=tx.at)
        tx.worktrees.mark_removed(session.id, at=tx.at)

    await store.write(change)
    now = clock.now()
    changed = msgspec.structs.replace(
        worktree, conflict_task_id="tsk_1", merged_into="main", merged_at=now, removed_at=now
    )
    assert await store.read(lambda tx: tx.worktrees.get(session.id)) == changed
    assert await store.read(lambda tx: tx.worktrees.of_conflict_task("tsk_1")) == changed
    assert await store.read(lambda tx: tx.worktrees.of_conflict_task("tsk_2")) is None
    again = await insert_worktree(store, session, path="/again")
    assert await store.read(lambda tx: tx.worktrees.get(session.id)) == again, "a new start replaces the worktree"


async def test_worktrees_of_a_project_are_listed_in_pages(store: Store, enter: Enter) -> None:
    worktrees = [await insert_worktree(store, await enter(name)) for name in "abc"]
    await store.write(lambda tx: tx.worktrees.mark_removed(worktrees[1].session_id, at=tx.at))

    async def listed(after: str = "", limit: int = 9) -> list[SessionWorktree]:
        return await store.read(lambda tx: tx.worktrees.of_project(VC, after=after, limit=limit))

    assert await listed() == [worktrees[0], worktrees[2]]
    assert await listed(limit=1) == [worktrees[0]] and await listed(after=worktrees[0].session_id) == [worktrees[2]]


async def test_only_worktrees_of_finished_sessions_are_removable(
    store: Store, enter: Enter, launch: Launch, clock: FakeClock
) -> None:
    names = ("merged", "unmerged", "live", "never-ran", "resumed")
    sessions = {name: await enter(name) for name in names}
    for session in sessions.values():
        await launch(session)
        await insert_worktree(store, session, merges_into="main")

    def change(tx: Tx) -> None:
        for name in ("merged", "live", "resumed"):
            tx.worktrees.mark_merged(sessions[name].id, into="main", at=tx.at)
        for name in ("merged", "unmerged", "resumed", "never-ran"):
            status = SessionStatus.FAILED if name == "never-ran" else SessionStatus.COMPLETED
            tx.sessions.mark_ended(sessions[name].id, status=status, source=StatusSource.PROCESS, at=tx.at)
        tx.recoveries.put(SessionRecovery(session_id=sessions["resumed"].id, step=RecoveryStep.RESUME, due_at=tx.at))

    await store.write(change)
    before = clock.now() + timedelta(seconds=1)

    async def removable(*, merged: bool, before: datetime = before, after: str = "", limit: int = 9) -> list[str]:
        values: dict[str, Any] = {"merged": merged, "before": before, "after": after, "limit": limit}
        found = await store.read(lambda tx: tx.worktrees.list_removable(**values))
        return [next(name for name in names if sessions[name].id == tree.session_id) for tree in found]

    assert await removable(merged=True) == ["merged", "never-ran"]
    assert await removable(merged=False) == ["never-ran"]
    assert await removable(merged=True, limit=1) == ["merged"]
    assert await removable(merged=True, after=sessions["merged"].id) == ["never-ran"]
