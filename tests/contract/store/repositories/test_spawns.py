"""The repository of spawns: start, runner and end of the program of a session."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime

import msgspec

from maestro.core.clock import UNIX_EPOCH
from maestro.domain.runs import Attempt, AttemptOutcome, Run, RunStatus, RunStrategy
from maestro.domain.sessions import Session, SessionStatus, StatusSource
from maestro.domain.spawns import Spawn
from maestro.store.base import Store, Tx
from maestro.store.repositories.spawns import DismissedSession
from maestro.testing.clock import FakeClock

Enter = Callable[..., Awaitable[Session]]
Launch = Callable[..., Awaitable[Spawn]]


async def end_session(store: Store, session: Session, status: SessionStatus) -> None:
    await store.write(
        lambda tx: tx.sessions.mark_ended(session.id, status=status, source=StatusSource.PROCESS, at=tx.at)
    )


async def record_exit(store: Store, session: Session, *, epoch: int = 1) -> bool:
    values = {"code": None, "signal": "SIGKILL", "tail": "last ✓"}
    return await store.write(lambda tx: tx.spawns.record_exit(session.id, epoch=epoch, at=tx.at, **values))


async def test_a_spawn_keeps_every_field(store: Store, enter: Enter, launch: Launch) -> None:
    session = await enter("w")
    spawn = await launch(session, manifest=b'{"a": "\xff"}', run_id="run_1")
    assert await store.read(lambda tx: tx.spawns.get(session.id)) == spawn
    assert await store.read(lambda tx: tx.spawns.get_manifest(session.id)) == b'{"a": "\xff"}'
    assert await store.read(lambda tx: (tx.spawns.get("ses_0"), tx.spawns.get_manifest("ses_0"))) == (None, None)


async def test_a_runner_and_an_exit_are_recorded_only_for_the_epoch_of_the_spawn(
    store: Store, enter: Enter, launch: Launch, clock: FakeClock
) -> None:
    session = await enter("w")
    spawn = await launch(session)

    async def record_runner(epoch: int) -> bool:
        return await store.write(lambda tx: tx.spawns.record_runner(session.id, epoch=epoch, pid=7, started="t"))

    assert not await record_runner(2) and await record_runner(1)
    assert not await record_exit(store, session, epoch=2)
    assert await record_exit(store, session) and not await record_exit(store, session)
    assert not await record_runner(1), "the program has ended"
    assert await store.read(lambda tx: tx.spawns.get(session.id)) == msgspec.structs.replace(
        spawn, runner_pid=7, runner_started="t", exit_signal="SIGKILL", tail="last ✓", ended_at=clock.now()
    )
    await store.write(lambda tx: tx.spawns.reset_for_restart(session.id, manifest=b"new"))
    assert await store.read(lambda tx: tx.spawns.get(session.id)) == msgspec.structs.replace(spawn, epoch=2)
    assert await store.read(lambda tx: tx.spawns.get_manifest(session.id)) == b"new"


async def test_the_runner_of_a_spawn_of_this_server_is_not_completed(
    store: Store, enter: Enter, launch: Launch
) -> None:
    session = await enter("w")
    spawn = await launch(session)
    await store.write(lambda tx: tx.spawns.complete_runner(session.id, epoch=1, pid=7, started="t"))
    assert await store.read(lambda tx: tx.spawns.get(session.id)) == spawn


async def test_the_processes_of_runner_and_program_lead_to_the_live_session(
    store: Store, enter: Enter, launch: Launch
) -> None:
    session = await enter("w")
    await launch(session)
    await store.write(lambda tx: tx.spawns.set_process(session.id, pid=8, started="p"))
    await store.write(lambda tx: tx.spawns.record_runner(session.id, epoch=1, pid=7, started="t"))
    expected = {(8, "p"): session.id, (7, "t"): session.id}
    assert await store.read(lambda tx: tx.sessions.sessions_by_process()) == expected
    assert await store.read(lambda tx: tx.sessions.live_processes()) == {session.id: (8, "p")}


async def test_live_spawns_are_listed_oldest_first(store: Store, enter: Enter, launch: Launch) -> None:
    spawns = [await launch(await enter(name)) for name in "abc"]
    ended = await store.read(lambda tx: tx.sessions.get(spawns[1].session_id))
    assert ended is not None and await record_exit(store, ended)

    async def live(after: datetime, limit: int = 9) -> list[Spawn]:
        return await store.read(lambda tx: tx.spawns.list_live(after=after, limit=limit))

    assert await live(UNIX_EPOCH) == [spawns[0], spawns[2]]
    assert await live(UNIX_EPOCH, limit=1) == [spawns[0]] and await live(spawns[0].created_at) == [spawns[2]]


async def test_live_spawned_sessions_are_counted(store: Store, enter: Enter, launch: Launch) -> None:
    parent = await enter("boss")
    children = [await enter(name, parent_id=parent.id) for name in "abc"]
    for child in children[:2]:
        await launch(child)
    await end_session(store, children[1], SessionStatus.STOPPED)
    assert await store.read(lambda tx: tx.spawns.count_below(parent.id)) == 1
    assert await store.read(lambda tx: tx.spawns.count_in_project(parent.project_id)) == 1
    assert await store.read(lambda tx: tx.spawns.count_below("ses_unknown")) == 0


async def test_programs_without_work_are_listed_as_dismissed_sessions(
    store: Store, enter: Enter, launch: Launch, clock: FakeClock
) -> None:
    ended, lost, attempting, working = [await enter(name) for name in "abcd"]
    for session in (ended, lost, attempting, working):
        await launch(session, run_id="run_1" if session in (attempting, working) else None)
    await end_session(store, ended, SessionStatus.STOPPED)
    await end_session(store, lost, SessionStatus.LOST)
    now = clock.now()
    run = Run(
        id="run_1",
        project_id=ended.project_id,
        task_id="tsk_1",
        strategy=RunStrategy.DAG,
        max_parallel=1,
        attempts_max=1,
        member=None,
        tool="claude",
        arguments=[],
        worktrees=False,
        directory="/",
        branch=None,
        status=RunStatus.RUNNING,
        note="",
        started_by="dana",
        created_at=now,
        ended_at=None,
    )

    def insert(tx: Tx) -> None:
        tx.runs.insert(run)
        for number, session in enumerate((attempting, working), 1):
            outcome = AttemptOutcome.FAILED if session is attempting else None
            ended_at = now if outcome else None
            values = {"session_id": session.id, "outcome": outcome, "started_at": now, "ended_at": ended_at}
            tx.runs.insert_attempt(Attempt(run_id="run_1", task_id=f"tsk_{number}", number=1, **values))

    await store.write(insert)
    dismissed = [
        DismissedSession(ended.id, None, None, now),
        DismissedSession(attempting.id, "run_1", AttemptOutcome.FAILED, now),
    ]
    assert await store.read(lambda tx: tx.spawns.list_dismissed(limit=9)) == dismissed
    assert await store.read(lambda tx: tx.spawns.list_dismissed(limit=1)) == dismissed[:1]
