"""The repository of runs and of their attempts at tasks."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec

from maestro.core import ids
from maestro.domain.callers import Role
from maestro.domain.conversations import AskPolicy
from maestro.domain.grants import Rights
from maestro.domain.members import Permission
from maestro.domain.priorities import Priority
from maestro.domain.runs import Attempt, AttemptOutcome, Run, RunStatus, RunStrategy
from maestro.domain.tasks import Task
from maestro.store.base import Store
from maestro.testing.clock import FakeClock
from maestro.testing.factories import make_task

VC = "prj_00000000000000000000000000"


async def insert_run(store: Store, clock: FakeClock, **fields: Any) -> Run:
    clock.advance(0.01)
    values: dict[str, Any] = {
        "id": ids.new_id("run", clock.now()),
        "project_id": VC,
        "task_id": "tsk_1",
        "strategy": RunStrategy.BATCH,
        "max_parallel": 3,
        "attempts_max": 2,
        "member": None,
        "tool": "codex",
        "arguments": ["--fast", "a,b"],
        "worktrees": True,
        "directory": "/src/vc ✓",
        "branch": None,
        "status": RunStatus.RUNNING,
        "note": "",
        "started_by": "dana",
        "created_at": clock.now(),
        "ended_at": None,
    }
    run = Run(**(values | fields))
    await store.write(lambda tx: tx.runs.insert(run))
    return run


def make_attempt(run: Run, task_id: str, number: int, **fields: Any) -> Attempt:
    values = {
        "session_id": f"ses_{task_id}_{number}",
        "outcome": None,
        "started_at": run.created_at,
        "ended_at": None,
    }
    return Attempt(run_id=run.id, task_id=task_id, number=number, **(values | fields))


async def test_a_run_keeps_every_field(store: Store, clock: FakeClock) -> None:
    rights = Rights(role=Role.COORDINATOR, allow=["task.create"], deny=[], grant=Permission.EDIT)
    bare = await insert_run(store, clock)
    full = await insert_run(
        store,
        clock,
        member="ada",
        branch="main",
        allow=["Read(*)"],
        asks=AskPolicy.DENY,
        rights=rights,
        worktrees=False,
    )
    for run in (bare, full):
        assert await store.read(lambda tx, run=run: tx.runs.get(run.id)) == run
    assert await store.read(lambda tx: tx.runs.get("run_unknown")) is None


async def test_a_run_changes_only_from_the_status_that_the_caller_read(store: Store, clock: FakeClock) -> None:
    run = await insert_run(store, clock)

    async def stop() -> bool:
        return await store.write(lambda tx: tx.runs.change_status(run, RunStatus.STOPPED, note="by hand", at=tx.at))

    assert await stop() and not await stop()
    stopped = await store.read(lambda tx: tx.runs.get(run.id))
    assert stopped == msgspec.structs.replace(run, status=RunStatus.STOPPED, note="by hand", ended_at=clock.now())
    assert not await store.write(lambda tx: tx.runs.set_note(run.id, "late")), "the run has ended"
    assert not await store.write(lambda tx: tx.runs.resume(run, at=tx.at)), "the run was read before it was stopped"
    clock.advance(1)
    assert await store.write(lambda tx: tx.runs.resume(stopped, at=tx.at))
    resumed = await store.read(lambda tx: tx.runs.get(run.id))
    assert resumed == msgspec.structs.replace(run, resumed_at=clock.now())
    assert await store.write(lambda tx: tx.runs.set_note(run.id, "waits"))
    assert not await store.write(lambda tx: tx.runs.set_note(run.id, "waits")), "the note is the same"


async def test_runs_are_found_by_task_and_listed_in_pages(store: Store, clock: FakeClock) -> None:
    first, second, third = [await insert_run(store, clock, task_id=f"tsk_{number}") for number in (1, 2, 2)]
    await store.write(lambda tx: tx.runs.change_status(third, RunStatus.FAILED, note="", at=tx.at))

    async def listed(before: str, limit: int) -> list[str]:
        return [run.id for run in await store.read(lambda tx: tx.runs.list_page(VC, before=before, limit=limit))]

    assert await listed("run_z", 9) == [third.id, second.id, first.id]
    assert await listed(third.id, 1) == [second.id]
    assert await store.read(lambda tx: tx.runs.list_live(limit=9)) == [first, second]
    assert await store.read(lambda tx: tx.runs.list_live(after=first.id, limit=9)) == [second]
    assert await store.read(lambda tx: tx.runs.list_live(limit=1)) == [first]
    assert await store.read(lambda tx: tx.runs.of_task("tsk_2")) == second
    last = await store.read(lambda tx: tx.runs.last_of_task("tsk_2"))
    assert last is not None and last.id == third.id
    assert await store.read(lambda tx: (tx.runs.of_task("tsk_9"), tx.runs.last_of_task("tsk_9"))) == (None, None)


async def test_attempts_keep_every_field_and_end_once(store: Store, clock: FakeClock) -> None:
    run = await insert_run(store, clock)
    ended_at = clock.now() + timedelta(seconds=1)
    done = make_attempt(
        run, "tsk_1", 1, outcome=AttemptOutcome.REFUSED, ended_at=ended_at, note="no ✓", session_id=""
    )
    attempts = [done, make_attempt(run, "tsk_1", 2), make_attempt(run, "tsk_2", 1)]
    await store.write(lambda tx: [tx.runs.insert_attempt(attempt) for attempt in reversed(attempts)])
    assert await store.read(lambda tx: tx.runs.attempts_by_task(run.id)) == {
        "tsk_1": attempts[:2],
        "tsk_2": attempts[2:],
    }
    assert await store.read(lambda tx: tx.runs.attempts_by_task(run.id, ["tsk_2", "tsk_9"])) == {
        "tsk_2": attempts[2:]
    }
    assert await store.read(lambda tx: tx.runs.attempt_of_session("ses_tsk_1_2")) == attempts[1]
    assert await store.read(lambda tx: tx.runs.attempt_of_session("ses_unknown")) is None
    for outcome in (AttemptOutcome.LOST, AttemptOutcome.FAILED):
        await store.write(
            lambda tx, outcome=outcome: tx.runs.end_attempt(attempts[1], outcome, note=outcome.value, at=ended_at)
        )
    ended = await store.read(lambda tx: tx.runs.attempt_of_session("ses_tsk_1_2"))
    assert ended == msgspec.structs.replace(attempts[1], outcome=AttemptOutcome.LOST, note="lost", ended_at=ended_at)


async def test_open_attempts_at_deleted_tasks_are_found(store: Store, clock: FakeClock) -> None:
    run, task = await insert_run(store, clock), make_task()
    attempts = [make_attempt(run, task.id, 1), make_attempt(run, "tsk_gone", 1)]
    await store.write(lambda tx: [tx.tasks.insert(task), *(tx.runs.insert_attempt(attempt) for attempt in attempts)])
    assert await store.read(lambda tx: tx.runs.attempts_without_task(run.id)) == attempts[1:]


async def test_the_ready_tasks_in_the_tree_of_a_run_can_start(store: Store, clock: FakeClock) -> None:
    root, outside = make_task(number=1), make_task(number=2)
    low = make_task(number=3, parent_id=root.id, priority=Priority.LOW)
    urgent = make_task(number=4, parent_id=root.id, priority=Priority.CRITICAL)
    await store.write(lambda tx: [tx.tasks.insert(task) for task in (root, outside, low, urgent)])
    run = await insert_run(store, clock, task_id=root.id)

    async def startable(limit: int = 9) -> list[Task]:
        return await store.read(lambda tx: tx.tasks.list_startable(root.id, run.id, project_id=VC, limit=limit))

    assert await startable() == [urgent, low] and await startable(limit=1) == [urgent]
    await store.write(lambda tx: tx.runs.insert_attempt(make_attempt(run, urgent.id, 1)))
    assert await startable() == [low]
    assert await store.read(lambda tx: tx.tasks.list_with_open_attempt(run.id)) == [urgent]
