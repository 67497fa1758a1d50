"""Test the reports of runners: which runner may report, and how a report changes the session and its tasks."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest
from tests.unit.services.conftest import World
from tests.unit.services.supervision.conftest import add_spawn

from maestro.core import errors
from maestro.domain.callers import Caller
from maestro.domain.sessions import SessionStatus
from maestro.domain.tasks import TaskStatus
from maestro.operations import spawning as ops
from maestro.services.supervision import runner_reports
from maestro.system import processes
from maestro.wire.runner_reports import BY_SIGNAL

SECRET = "secret of start"


class Program:
    """A spawned session whose runner sends the reports of a test."""

    def __init__(self, world: World, caller: Caller) -> None:
        self.world, self.caller = world, caller
        self.reports = runner_reports.RunnerReports(lambda session_id, epoch: f"{SECRET} {epoch}")

    async def report(self, kind: str, *, secret: str = f"{SECRET} 1", **facts: Any) -> Any:
        request = ops.RunnerReport(report=json.dumps({"kind": kind, **facts}), secret=secret)
        return await self.world.do(self.reports.accept_report, request, by=self.caller)

    async def status(self) -> SessionStatus:
        return (await self.world.session(self.caller)).status

    async def task_status(self, task: Any) -> TaskStatus:
        found = await self.world.store.read(lambda tx: tx.tasks.get(task.id))
        assert found is not None
        return found.status


@pytest.fixture
async def program(world: World) -> Program:
    caller = await world.join("worker")
    await add_spawn(world, caller)
    return Program(world, caller)


async def test_a_report_without_the_secret_of_the_start_is_refused(program: Program) -> None:
    for secret in ("", SECRET, f"{SECRET} 2"):
        with pytest.raises(errors.NotPermitted, match="Only the runner of worker"):
            await program.report("exited", code=0, secret=secret)
    assert (await program.report("exited", code=0)).kind == "exited"


async def test_a_report_about_a_registered_session_is_refused(world: World) -> None:
    program = Program(world, await world.join("guest"))
    with pytest.raises(errors.Invalid, match="guest was not started by Maestro"):
        await program.report("exited", code=0)


async def test_a_report_that_is_not_valid_is_refused(program: Program) -> None:
    with pytest.raises(errors.Invalid, match="runner of worker is not valid"):
        await program.report("no-such-kind")


async def test_a_report_of_another_start_is_refused(program: Program) -> None:
    with pytest.raises(errors.Conflict, match="was started again") as refused:
        await program.report("exited", code=0, epoch=2)
    assert refused.value.data == {"epoch": 1, "reported_epoch": 2}
    assert (await program.world.session(program.caller)).ended_at is None


@pytest.mark.parametrize(
    ("facts", "session_status", "task_status"),
    [
        ({"code": 0}, SessionStatus.COMPLETED, TaskStatus.COMPLETED),
        ({"code": 3, "tail": "no grammar"}, SessionStatus.FAILED, TaskStatus.FAILED),
        ({"code": None, "signal": "SIGKILL"}, SessionStatus.FAILED, TaskStatus.FAILED),
        ({"code": None, "problem": "no such file"}, SessionStatus.FAILED, TaskStatus.FAILED),
        ({"code": 0, "asked": "dana"}, SessionStatus.STOPPED, TaskStatus.TODO),
    ],
)
async def test_the_end_of_a_program_sets_the_status_of_its_session_and_its_task(
    program: Program, facts: dict[str, Any], session_status: SessionStatus, task_status: TaskStatus
) -> None:
    task = await program.world.task(held_by=program.caller)
    await program.report("exited", **facts)
    assert (await program.status(), await program.task_status(task)) == (session_status, task_status)


async def test_a_session_whose_program_ended_by_a_signal_from_outside_is_lost(program: Program) -> None:
    await program.report("exited", code=None, asked=BY_SIGNAL)
    assert await program.status() is SessionStatus.LOST


async def test_the_last_output_of_a_program_is_stored_with_its_exit_code(program: Program) -> None:
    await program.report("exited", code=3, tail="no such grammar")
    spawn = await program.world.store.read(lambda tx: tx.spawns.get(program.caller.name))
    assert spawn is not None and (spawn.exit_code, spawn.tail) == (3, "no such grammar")


async def test_only_a_descendant_of_the_recorded_runner_is_the_process_of_the_session(program: Program) -> None:
    own, parent = processes.find_process(os.getpid()), processes.find_process(os.getppid())
    assert own is not None and parent is not None
    facts = {"pid": own.pid, "pid_started": own.started, "runner": parent.pid, "runner_started": parent.started}
    await program.report("started", **facts)
    assert (await program.world.session(program.caller)).pid is None, "no runner is recorded"
    await program.world.store.write(
        lambda tx: tx.spawns.record_runner(program.caller.name, epoch=1, pid=parent.pid, started=parent.started)
    )
    await program.report("started", **(facts | {"pid_started": "another process"}))
    assert (await program.world.session(program.caller)).pid is None, "the pid belongs to another process"
    await program.report("started", **facts)
    assert (await program.world.session(program.caller)).pid == own.pid


def test_decode_report_returns_none_for_an_unreadable_report() -> None:
    assert runner_reports.decode_report({"kind": "exited", "code": "zero"}) is None
    assert runner_reports.decode_report({"kind": "exited", "code": 0}) == runner_reports.ProgramExited(code=0)
