"""What follows from a move in the same transaction: the corners that the random courses found."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from maestro.core import errors
from maestro.domain.callers import Caller
from maestro.domain.documents import ReportKind
from maestro.operations import sessions as session_ops
from maestro.operations import tasks as ops
from maestro.operations.base import Operation
from maestro.server.app import Server
from maestro.testing.clock import FakeClock

Join = Callable[..., Awaitable[Caller]]


class Tasks:
    """Short words for long calls."""

    def __init__(self, server: Server, project: str, caller: Caller) -> None:
        self.server = server
        self.project = project
        self.caller = caller

    async def new(self, title: str = "t", *, by: Caller | None = None, **fields: Any) -> str:
        request = ops.CreateTask(project=self.project, title=title, **fields)
        made = await self.server.call(ops.CREATE, request, caller=by or self.caller)
        return str(made.id)

    async def do(self, operation: Operation, task: str, *, by: Caller | None = None, **fields: Any) -> Any:
        return await self.server.call(operation, operation.request(id=task, **fields), caller=by or self.caller)

    async def done(self, task: str) -> Any:
        await self.do(ops.START, task)
        return await self.do(ops.COMPLETE, task)

    async def statuses(self, *tasks: str) -> list[str]:
        return [(await self.do(ops.SHOW, task)).status.value for task in tasks]


@pytest.fixture
def tasks(server: Server, vc: str, dana: Caller) -> Tasks:
    return Tasks(server, vc, dana)


async def test_a_task_taken_out_of_a_held_stage_is_held_no_more(tasks: Tasks) -> None:
    await tasks.new(stage="plan")
    held = await tasks.new(stage="implement")
    assert not (await tasks.do(ops.SHOW, held)).ready
    assert (await tasks.do(ops.EDIT, held, stage="")).ready
    await tasks.done(held)


async def test_a_parent_and_its_parent_are_let_go_by_one_task(tasks: Tasks) -> None:
    """The upper one completes because of the lower one while it is itself still in line to be looked at."""
    gate = await tasks.new()
    lower = await tasks.new(depends_on=[gate])
    upper = await tasks.new(depends_on=[gate])
    await tasks.do(ops.EDIT, lower, parent=upper)
    await tasks.done(await tasks.new(parent=lower))
    await tasks.done(gate)
    assert await tasks.statuses(gate, lower, upper) == ["completed", "completed", "completed"]


@pytest.fixture
async def entangled(tasks: Tasks, join: Join) -> tuple[Caller, str, str]:
    """A worker holds a task and its parent; the lower one's child is done, and so is what it came to wait on."""
    worker = await join("w1")
    lower, upper = await tasks.new(), await tasks.new()
    await tasks.do(ops.EDIT, lower, parent=upper)
    child = await tasks.new(parent=lower)
    await tasks.do(ops.START, lower, by=worker)
    await tasks.do(ops.START, upper, by=worker)
    late = await tasks.new()
    await tasks.do(ops.DEPEND, lower, on=[late])
    await tasks.done(child)
    await tasks.done(late)
    return worker, lower, upper


async def test_a_running_parent_completes_when_the_last_of_all_it_waits_on_does(
    tasks: Tasks, entangled: tuple[Caller, str, str]
) -> None:
    _, lower, upper = entangled
    assert await tasks.statuses(lower, upper) == ["completed", "completed"]


async def test_no_claim_keeps_the_others_from_coming_back(
    tasks: Tasks, entangled: tuple[Caller, str, str], clock: FakeClock, server: Server, join: Join
) -> None:
    other = await tasks.new()
    await tasks.do(ops.START, other, by=await join("w2"))
    clock.advance(100_000)
    await server.lease_job.run_once()
    assert (await tasks.do(ops.SHOW, other)).holder is None


async def test_a_session_can_end_whatever_it_holds(
    server: Server, dana: Caller, entangled: tuple[Caller, str, str]
) -> None:
    worker, _, _ = entangled
    request = session_ops.EndSession(id=worker.session_id)
    ended = await server.call(session_ops.END, request, caller=dana)
    assert ended.status == "stopped"


@pytest.mark.parametrize("how", ["delete", "move away"])
async def test_a_parent_whose_last_open_child_goes_away_completes(tasks: Tasks, how: str) -> None:
    parent = await tasks.new()
    await tasks.done(await tasks.new(parent=parent))
    parent_of_last = await tasks.new(parent=parent)
    assert await tasks.statuses(parent) == ["todo"]
    if how == "delete":
        await tasks.do(ops.REMOVE, parent_of_last)
    else:
        await tasks.do(ops.EDIT, parent_of_last, parent="")
    assert await tasks.statuses(parent) == ["completed"]


async def test_a_blocked_parent_whose_children_are_done_completes_when_it_is_unblocked(tasks: Tasks) -> None:
    parent = await tasks.new()
    child = await tasks.new(parent=parent)
    await tasks.do(ops.START, parent)
    await tasks.do(ops.BLOCK, parent, reason="waits")
    await tasks.done(child)
    assert await tasks.statuses(parent) == ["blocked"]
    await tasks.do(ops.UNBLOCK, parent)
    assert await tasks.statuses(parent) == ["completed"]


async def test_a_finished_parent_that_is_reopened_stays_open(tasks: Tasks) -> None:
    """Who reopens it has something in mind, although its children are all done."""
    parent = await tasks.new()
    await tasks.done(await tasks.new(parent=parent))
    assert await tasks.statuses(parent) == ["completed"]
    reopened = await tasks.do(ops.REOPEN, parent)
    assert reopened.status == "todo" and reopened.ready
    await tasks.done(parent)


async def test_a_parent_that_is_rejected_goes_back_to_work(tasks: Tasks) -> None:
    parent = await tasks.new(gates=["sleep 20"])
    await tasks.done(await tasks.new(parent=parent))
    assert await tasks.statuses(parent) == ["in_review"]
    rejected = await tasks.do(ops.REJECT, parent, reason="not yet")
    assert rejected.status == "todo" and rejected.ready


async def test_a_worker_cannot_reopen_a_finished_task_by_giving_it_a_child(tasks: Tasks, join: Join) -> None:
    worker = await join("w1")
    finished = await tasks.new()
    await tasks.done(finished)
    with pytest.raises(errors.MaestroError):
        await tasks.new(by=worker, parent=finished)
    mine = await tasks.new(by=worker)
    await tasks.do(ops.START, mine, by=worker)
    with pytest.raises(errors.MaestroError):
        await tasks.do(ops.EDIT, mine, by=worker, parent=finished)
    assert await tasks.statuses(finished) == ["completed"]


async def test_a_long_chain_completes_at_once(tasks: Tasks) -> None:
    """Each task waits on the one before it and has a child that is done: the first sets off all of them."""
    first = before = await tasks.new()
    for _ in range(400):
        task = await tasks.new(depends_on=[before])
        await tasks.done(await tasks.new(parent=task))
        before = task
    await tasks.done(first)
    assert await tasks.statuses(before) == ["completed"]


async def test_who_is_rejected_after_a_long_review_has_time_to_go_on(
    tasks: Tasks, join: Join, clock: FakeClock, server: Server
) -> None:
    worker = await join("w1")
    task = await tasks.new(gates=["sleep 20"])
    await tasks.do(ops.START, task, by=worker, lease=60_000)
    await tasks.do(ops.COMPLETE, task, by=worker)
    clock.advance(3600)
    await server.call(session_ops.HEARTBEAT, session_ops.SendHeartbeat(), caller=worker)
    rejected = await tasks.do(ops.REJECT, task, reason="not yet")
    assert rejected.holder == worker.session_id
    await server.lease_job.run_once()
    await tasks.do(ops.COMPLETE, task, by=worker)


async def test_a_report_renews_the_claim_that_it_blocks(tasks: Tasks, join: Join, clock: FakeClock) -> None:
    worker = await join("w1")
    task = await tasks.new()
    started = await tasks.do(ops.START, task, by=worker, lease=60_000)
    clock.advance(30)
    reported = await tasks.do(ops.REPORT, task, by=worker, kind=ReportKind.BLOCKED, text="a key")
    assert (reported.lease_until - started.lease_until).total_seconds() == 30


async def test_a_sign_of_life_that_comes_too_late_renews_nothing(
    tasks: Tasks, join: Join, clock: FakeClock, server: Server
) -> None:
    worker = await join("w1")
    task = await tasks.new()
    await tasks.do(ops.START, task, by=worker, lease=60_000)
    clock.advance(60)
    beat = await server.call(session_ops.HEARTBEAT, session_ops.SendHeartbeat(), caller=worker)
    assert beat.renewed == 0
    await server.lease_job.run_once()
    assert (await tasks.do(ops.SHOW, task)).holder is None


async def test_a_worker_does_not_pass_its_own_review(tasks: Tasks, join: Join) -> None:
    worker = await join("w1")
    task = await tasks.new(gates=["sleep 20"])
    await tasks.do(ops.START, task, by=worker)
    await tasks.do(ops.COMPLETE, task, by=worker)
    with pytest.raises(errors.Conflict):
        await tasks.do(ops.COMPLETE, task, by=worker)
    assert await tasks.statuses(task) == ["in_review"]
