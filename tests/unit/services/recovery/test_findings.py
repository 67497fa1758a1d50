"""A new server reports the present state of the sessions and runs that were live at its start."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from maestro.domain.recovery import RecoveryStep, SessionRecovery
from maestro.domain.runs import RunStatus
from maestro.operations.server import EmptyRequest, RecoveryReport
from maestro.operations.server import FoundSessionState as State
from maestro.operations.task_shapes import CompleteTask, StartTask
from maestro.services.recovery.findings import RestartFindings
from maestro.services.tasks import moves
from maestro.testing.factories import make_run, make_spawn

World = Any


class RecoveryCalls:
    """A counter of the calls that settle due recoveries."""

    def __init__(self) -> None:
        self.count = 0

    async def settle_due(self, seconds: float) -> None:
        assert 0 < seconds <= 10
        self.count += 1


@pytest.fixture
def recovery() -> RecoveryCalls:
    return RecoveryCalls()


@pytest.fixture
def findings(world: World, recovery: RecoveryCalls) -> RestartFindings:
    return RestartFindings(world.store, world.presence, recovery.settle_due, clock=world.clock)


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    """Start a process that runs until the test ends it."""
    started = subprocess.Popen(["sleep", "600"])
    yield started
    started.kill()
    started.wait()


async def show(world: World, findings: RestartFindings) -> RecoveryReport:
    findings.runners_checked.set()
    return await findings.show_findings(world.dana, EmptyRequest())


async def states(world: World, findings: RestartFindings) -> dict[str, State]:
    return {found.name: found.state for found in (await show(world, findings)).sessions}


async def add_spawn(world: World, caller: Any, *, pid: int = 0, started: str = "", run_id: str | None = None) -> None:
    """Store a spawn of the session and, if `pid` is given, the process of its program."""

    def write(tx: Any) -> None:
        tx.spawns.insert(make_spawn(caller.name, run_id=run_id), manifest=b"")
        if pid:
            tx.spawns.set_process(caller.name, pid=pid, started=started)

    await world.store.write(write)


async def complete(world: World, task: Any) -> None:
    await world.do(moves.start_task, StartTask(id=task.id))
    await world.do(moves.complete_task, CompleteTask(id=task.id))


async def test_only_sessions_that_were_live_at_the_start_are_reported(
    world: World, findings: RestartFindings
) -> None:
    ended = await world.join("ended")
    await world.end(ended)
    await world.join("live")
    await findings.note_live_sessions()
    await world.join("later")
    await findings.note_live_sessions()
    report = await show(world, findings)
    assert [(found.name, found.project, found.status) for found in report.sessions] == [("live", "vc", "working")]
    assert report.started_at < world.clock.now() and not report.rebooted


async def test_a_session_without_a_process_is_alive_only_after_a_sign_of_life(
    world: World, findings: RestartFindings
) -> None:
    silent, heard = await world.join("silent"), await world.join("heard")
    await findings.note_live_sessions()
    world.presence.record_sign(heard.name)
    assert await states(world, findings) == {"silent": State.SILENT, "heard": State.ALIVE}
    await world.end(silent, "stopped")
    await world.end(heard, "lost")
    assert await states(world, findings) == {"silent": State.ENDED, "heard": State.LOST}


async def test_the_process_of_a_session_decides_whether_the_session_is_alive(
    world: World, findings: RestartFindings, process: subprocess.Popen[bytes]
) -> None:
    await world.join("present", pid=os.getpid())
    await world.join("gone", pid=process.pid)
    process.kill()
    process.wait()
    await findings.note_live_sessions()
    assert await states(world, findings) == {"present": State.ALIVE, "gone": State.SILENT}


async def test_a_spawned_session_whose_process_is_gone_counts_as_ended(
    world: World, findings: RestartFindings
) -> None:
    starting, ended = await world.join("starting"), await world.join("ended")
    await add_spawn(world, starting)
    await add_spawn(world, ended, pid=2**22 + 1, started="1")
    await findings.note_live_sessions()
    assert await states(world, findings) == {"starting": State.ALIVE, "ended": State.ENDED}


async def test_a_later_start_of_a_session_counts_as_resumed(world: World, findings: RestartFindings) -> None:
    worker = await world.join("w")
    await add_spawn(world, worker)
    await findings.note_live_sessions()
    assert await states(world, findings) == {"w": State.ALIVE}
    await world.store.write(lambda tx: tx.spawns.reset_for_restart(worker.name, manifest=b""))
    assert await states(world, findings) == {"w": State.RESUMED}


async def test_a_planned_restart_counts_as_resuming(world: World, findings: RestartFindings) -> None:
    worker = await world.join("w")
    await findings.note_live_sessions()
    await world.end(worker, "lost")
    plan = SessionRecovery(session_id=worker.name, step=RecoveryStep.RESUME, due_at=world.clock.now())
    await world.store.write(lambda tx: tx.recoveries.put(plan))
    assert await states(world, findings) == {"w": State.RESUMING}


@pytest.mark.parametrize(("status", "state"), [(RunStatus.RUNNING, State.REDONE), (RunStatus.STOPPED, State.LOST)])
async def test_a_live_run_attempts_the_work_of_a_lost_session_again(
    world: World, findings: RestartFindings, status: RunStatus, state: State
) -> None:
    task = await world.task()
    run = make_run(task.id, status=status)
    await world.store.write(lambda tx: tx.runs.insert(run))
    worker = await world.join("w")
    await add_spawn(world, worker, run_id=run.id)
    await findings.note_live_sessions()
    await world.end(worker, "lost")
    assert await states(world, findings) == {"w": state}


async def test_live_runs_are_reported_with_their_progress(world: World, findings: RestartFindings) -> None:
    parent = await world.task()
    done, _ = await world.task(parent=parent.id), await world.task(parent=parent.id)
    run = make_run(parent.id)
    await world.store.write(lambda tx: tx.runs.insert(run))
    await findings.note_live_sessions()
    await complete(world, done)
    (found,) = (await show(world, findings)).runs
    assert (found.id, found.task, found.status) == (run.id, "vc#1", RunStatus.RUNNING)
    assert (found.completed, found.tasks) == (1, 2)


async def test_due_recoveries_are_settled_before_the_report(
    world: World, findings: RestartFindings, recovery: RecoveryCalls
) -> None:
    await show(world, findings)
    assert recovery.count == 1
