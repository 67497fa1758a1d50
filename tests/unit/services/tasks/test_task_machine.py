"""The server treats random moves of tasks by random callers as a small independent model does.

The model has no ranks, counters or flags: it computes readiness, cycles and finished parents anew for each step.
After each step, the tables, the log and the model must agree.
"""

from __future__ import annotations

import asyncio
import copy
import random
import sqlite3
import tempfile
from collections import defaultdict
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from maestro.core import errors
from maestro.core.clock import to_micros
from maestro.domain.callers import Caller, person_caller
from maestro.domain.documents import ReportKind
from maestro.domain.projects import Project
from maestro.domain.tasks import TRANSITIONS, TaskStatus
from maestro.operations import sessions as session_ops
from maestro.operations import tasks as ops
from maestro.operations.base import Operation
from maestro.server.app import Server
from maestro.store.layout import DATABASE
from maestro.testing import rounds
from maestro.testing.clock import FakeClock

STAGES = ["plan", "implement", "verify"]
HERE, ELSEWHERE = "prj_here", "prj_elsewhere"
FINAL = {"completed", "failed", "cancelled"}
DONE = {"completed", "cancelled"}
TASKS_MAX = 14

# The moves that each kind of event can report.
MOVE_OF = {
    "task.started": ("start",),
    "task.released": ("release",),
    "task.claim_expired": ("expire",),
    "task.in_review": ("complete", "roll_up"),
    "task.completed": ("complete", "roll_up"),
    "task.rejected": ("reject",),
    "task.blocked": ("block",),
    "task.unblocked": ("unblock",),
    "task.failed": ("fail",),
    "task.cancelled": ("cancel",),
    "task.reopened": ("reopen",),
}
LETS_GO = {
    "task.released",
    "task.claim_expired",
    "task.completed",
    "task.failed",
    "task.cancelled",
    "task.reopened",
}


Rules = Callable[..., None]


@dataclass(frozen=True)
class Actor:
    """A caller in the model."""

    name: str
    role: str  # person, coordinator, worker
    project: str | None = None

    @property
    def is_session(self) -> bool:
        return self.role != "person"


@dataclass
class Told:
    """A task in the model."""

    project: str
    status: str = "todo"
    holder: str | None = None
    fence: int = 0
    lease: int | None = None
    until: datetime | None = None
    gates: bool = False
    stage: str | None = None
    parent: str | None = None
    archived: bool = False
    on: set[str] = field(default_factory=set)

    def unclaim(self) -> None:
        self.holder = self.lease = self.until = None


class Refused(Exception):
    """A refusal of the model, with the errors that the server may raise."""

    def __init__(self, *kinds: type[errors.MaestroError]) -> None:
        self.kinds = kinds
        super().__init__(", ".join(kind.code for kind in kinds))


class Model:
    """The rules of tasks in their simplest form."""

    def __init__(self) -> None:
        self.tasks: dict[str, Told] = {}
        self.opened: set[str] = set()  # parents that this step has reopened for a child

    # Facts that follow from the tasks alone.

    def open_deps(self, task_id: str) -> set[str]:
        return {other for other in self.tasks[task_id].on if self.tasks[other].status != "completed"}

    def stage_held(self, task_id: str) -> bool:
        task = self.tasks[task_id]
        if task.stage is None:
            return False
        earlier = STAGES[: STAGES.index(task.stage)]
        return any(
            other.stage in earlier and other.status not in DONE
            for other in self.tasks.values()
            if (other.project, other.parent) == (task.project, task.parent)
        )

    def waits(self, task_id: str) -> bool:
        return bool(self.open_deps(task_id)) or self.stage_held(task_id)

    def ready(self, task_id: str) -> bool:
        return self.tasks[task_id].status == "todo" and not self.waits(task_id)

    def children(self, task_id: str) -> list[Told]:
        return [task for task in self.tasks.values() if task.parent == task_id]

    def children_done(self, task_id: str) -> bool:
        statuses = [child.status for child in self.children(task_id)]
        return all(status in DONE for status in statuses) and "completed" in statuses

    def nothing_left(self, task_id: str) -> bool:
        """Return whether a parent has no open child and no open dependency, and is neither held back nor blocked."""
        return self.children_done(task_id) and not self.waits(task_id) and self.tasks[task_id].status != "blocked"

    def reaches(self, start: str, goal: str) -> bool:
        """Return whether `start` waits on `goal`, directly or indirectly. A parent waits on its children."""
        below: dict[str, set[str]] = defaultdict(set)
        for task_id, task in self.tasks.items():
            below[task_id] |= task.on
            if task.parent:
                below[task.parent].add(task_id)
        seen, waiting = {start}, [start]
        while waiting:
            here = waiting.pop()
            if here == goal:
                return True
            fresh = below[here] - seen
            seen |= fresh
            waiting.extend(fresh)
        return False

    # Moves: their conditions and their results.

    def settle(self, before: Model) -> None:
        """Complete each parent that has nothing left to wait for since this step."""
        while True:
            due = [
                task_id
                for task_id, task in self.tasks.items()
                if task.status in ("todo", "in_progress")
                and self.nothing_left(task_id)
                and (task_id in self.opened or task_id not in before.tasks or not before.nothing_left(task_id))
            ]
            if not due:
                self.opened.clear()
                return
            self.finish(due[0])

    def finish(self, task_id: str) -> None:
        task = self.tasks[task_id]
        if task.gates:
            task.status = "in_review"
        else:
            task.status = "completed"
            task.unclaim()

    def lapse(self, task_id: str, at: datetime) -> None:
        """Remove the claim of a task whose lease has ended, although no event has reported the end."""
        task = self.tasks[task_id]
        if task.until is not None and task.until <= at and task.status in ("in_progress", "blocked"):
            task.status = "todo" if task.status == "in_progress" else task.status
            task.unclaim()

    def may_write(self, actor: Actor, project: str) -> None:
        if actor.is_session and actor.project != project:
            raise Refused(errors.NotPermitted)

    def may_move(self, actor: Actor, task_id: str, fence: int | None = None) -> None:
        task = self.tasks[task_id]
        self.may_write(actor, task.project)
        if actor.role == "worker" and task.holder != actor.name:
            raise Refused(errors.ClaimLost)
        if fence is not None and fence != task.fence:
            raise Refused(errors.ClaimLost)

    def owners_only(self, actor: Actor) -> None:
        if actor.role == "worker":
            raise Refused(errors.NotPermitted)

    def from_status(self, task_id: str, *statuses: str) -> None:
        if self.tasks[task_id].status not in statuses:
            raise Refused(errors.IllegalMove)

    def start(self, actor: Actor, task_id: str, *, lease: int, at: datetime) -> None:
        task = self.tasks[task_id]
        self.may_write(actor, task.project)
        if task.holder and task.status in ("in_progress", "blocked"):
            raise Refused(errors.ClaimLost)
        self.from_status(task_id, "todo")
        if not self.ready(task_id):
            raise Refused(errors.NotReady)
        task.status, task.holder, task.fence = "in_progress", actor.name, task.fence + 1
        if actor.is_session:
            task.lease, task.until = lease, at + timedelta(seconds=lease)

    def release(self, actor: Actor, task_id: str, fence: int | None) -> None:
        self.may_move(actor, task_id, fence)
        self.from_status(task_id, "in_progress")
        self.tasks[task_id].status = "todo"
        self.tasks[task_id].unclaim()

    def complete(self, actor: Actor, task_id: str, fence: int | None) -> None:
        self.may_move(actor, task_id, fence)
        self.from_status(task_id, "in_progress", "in_review")
        task = self.tasks[task_id]
        if any(child.status not in DONE for child in self.children(task_id)):
            raise Refused(errors.Conflict)
        if task.status == "in_review":
            if actor.role == "worker":
                raise Refused(errors.Conflict)
            task.status = "completed"
            task.unclaim()
        else:
            self.finish(task_id)

    def reject(self, actor: Actor, task_id: str, fence: int | None, at: datetime) -> None:
        self.owners_only(actor)
        self.may_move(actor, task_id, fence)
        self.from_status(task_id, "in_review")
        task = self.tasks[task_id]
        task.status = "in_progress" if task.holder else "todo"
        if task.lease is not None:  # the holder gets the task back with a full lease
            task.until = at + timedelta(seconds=task.lease)

    def block(self, actor: Actor, task_id: str, fence: int | None) -> None:
        self.may_move(actor, task_id, fence)
        self.from_status(task_id, "todo", "in_progress")
        self.tasks[task_id].status = "blocked"

    def unblock(self, actor: Actor, task_id: str, fence: int | None) -> None:
        self.may_move(actor, task_id, fence)
        self.from_status(task_id, "blocked")
        task = self.tasks[task_id]
        task.status = "in_progress" if task.holder else "todo"

    def fail(self, actor: Actor, task_id: str, fence: int | None) -> None:
        self.may_move(actor, task_id, fence)
        self.from_status(task_id, "in_progress", "in_review", "blocked")
        self.tasks[task_id].status = "failed"
        self.tasks[task_id].unclaim()

    def cancel(self, actor: Actor, task_id: str, fence: int | None) -> None:
        self.owners_only(actor)
        self.may_move(actor, task_id, fence)
        self.from_status(task_id, "todo", "in_progress", "in_review", "blocked", "failed")
        self.tasks[task_id].status = "cancelled"
        self.tasks[task_id].unclaim()

    def reopen(self, actor: Actor, task_id: str) -> None:
        self.owners_only(actor)
        self.may_move(actor, task_id)
        self.from_status(task_id, *FINAL)
        self.tasks[task_id].status = "todo"

    def report(self, actor: Actor, task_id: str, kind: str, fence: int | None, at: datetime) -> None:
        self.may_move(actor, task_id, fence)
        self.renew(actor, at)
        if self.tasks[task_id].status == "blocked" and kind in ("progress", "complete"):
            self.unblock(actor, task_id, fence)
        moves = {"complete": self.complete, "blocked": self.block, "error": self.fail}
        if kind in moves:
            moves[kind](actor, task_id, fence)

    def renew(self, actor: Actor, at: datetime) -> None:
        for task in self.tasks.values():
            alive = task.until is not None and task.until > at and task.status in ("in_progress", "blocked")
            if alive and task.holder == actor.name:
                assert task.lease is not None
                task.until = at + timedelta(seconds=task.lease)

    def place(self, actor: Actor, task_id: str, parent: str) -> None:
        """Put a task below a parent, and reopen a finished parent."""
        task, above = self.tasks[task_id], self.tasks[parent]
        if above.project != task.project:
            raise Refused(errors.Invalid)
        task.parent = None
        if self.reaches(task_id, parent):
            raise Refused(errors.Cycle)
        task.parent = parent
        if above.status in FINAL and task.status not in DONE:
            self.may_move(actor, parent)  # a worker must not reopen a task that the worker does not hold
            above.status = "todo"
            self.opened.add(parent)

    def depend(self, actor: Actor, task_id: str, on: list[str]) -> None:
        self.may_move(actor, task_id)
        for other in on:
            self.wait_on(task_id, other)

    def wait_on(self, task_id: str, other: str) -> None:
        if self.reaches(other, task_id):
            raise Refused(errors.Cycle)
        self.tasks[task_id].on.add(other)

    def undepend(self, actor: Actor, task_id: str, other: str) -> None:
        self.may_move(actor, task_id)
        if other not in self.tasks[task_id].on:
            raise Refused(errors.NotFound)
        self.tasks[task_id].on.discard(other)

    def delete(self, actor: Actor, task_id: str) -> None:
        self.owners_only(actor)
        self.may_move(actor, task_id)
        if self.children(task_id) or any(task_id in other.on for other in self.tasks.values()):
            raise Refused(errors.Conflict)
        del self.tasks[task_id]

    def end_session(self, name: str) -> None:
        for task in self.tasks.values():
            if task.holder == name and task.status in ("in_progress", "blocked"):
                task.status = "todo" if task.status == "in_progress" else "blocked"
                task.unclaim()


class Fold:
    """The state of the tasks as the log alone describes it."""

    def __init__(self) -> None:
        self.seq = 0
        self.status: dict[str, str] = {}
        self.holder: dict[str, str | None] = {}
        self.fence: dict[str, int] = {}
        self.edges: set[tuple[str, str]] = set()
        self.became_ready: list[str] = []

    def take(self, seq: int, kind: str, subject: str, data: dict[str, Any]) -> None:
        assert seq == self.seq + 1, f"event {seq} follows event {self.seq}"
        self.seq = seq
        if kind == "task.created":
            self.status[subject], self.holder[subject], self.fence[subject] = data["status"], None, 0
        elif kind == "task.deleted":
            del self.status[subject]
            self.edges = {edge for edge in self.edges if edge[0] != subject}
        elif kind == "task.dependency_added":
            assert (subject, data["on"]) not in self.edges
            self.edges.add((subject, data["on"]))
        elif kind == "task.dependency_removed":
            self.edges.remove((subject, data["on"]))
        elif kind == "task.ready":
            self.became_ready.append(subject)
        elif kind in MOVE_OF:
            self._move(kind, subject, data)

    def _move(self, kind: str, subject: str, data: dict[str, Any]) -> None:
        was, now = TaskStatus(data["from"]), TaskStatus(data["status"])
        assert self.status[subject] == was, f"{kind} names {was}, but the log has {self.status[subject]}"
        assert any(now in TRANSITIONS[move].get(was, ()) for move in MOVE_OF[kind]), f"{kind}: {was} → {now}"
        self.status[subject] = now
        if kind == "task.started":
            assert self.holder[subject] is None, "the task was claimed while another caller held it"
            assert data["fence"] > self.fence[subject], "each claim must have a larger fence"
            self.holder[subject], self.fence[subject] = data["holder"], data["fence"]
        elif kind in LETS_GO:
            self.holder[subject] = None


SEATS = {
    "lead": ("coordinate", HERE),
    "w1": ("execute", HERE),
    "w2": ("execute", HERE),
    "w3": ("plan", HERE),
    "stranger": ("execute", ELSEWHERE),
}
# "able" means the holder of the task; without a holder it means a caller with rights for most moves.
PEOPLE = ["able", "able", "able", "able", "dana", "lead", "w1", "w2", "w3", "stranger"]
FENCES = ["none", "none", "none", "present", "present", "present", "old", "future"]
FOLDER = "/dev/shm" if Path("/dev/shm").is_dir() else None


class Machine:
    """A server with six callers and two projects. Each rule is a method whose arguments are plain values."""

    def __init__(self) -> None:
        self.home = tempfile.TemporaryDirectory(dir=FOLDER)
        self.clock = FakeClock()
        self.model = Model()
        self.fold = Fold()
        self.was_ready: set[str] = set()
        self.numbers = {HERE: 0, ELSEWHERE: 0}
        self.runner = asyncio.Runner()
        self.tokens: dict[str, str] = {}
        self.sessions: dict[str, str] = {}
        self.void: list[str] = []
        self.runner.run(self.open())
        self.database = sqlite3.connect(f"file:{self.home.name}/{DATABASE}?mode=ro", uri=True)

    def close(self) -> None:
        self.database.close()
        self.runner.run(self.server.close())
        self.runner.close()
        self.home.cleanup()

    async def open(self) -> None:
        self.server = Server(Path(self.home.name), clock=self.clock)
        await self.server.background_jobs.close()  # only the machine makes time pass and runs jobs
        now = self.clock.now()
        for project_id in (HERE, ELSEWHERE):
            project = Project(project_id, f"path:/{project_id}", project_id.removeprefix("prj_"), STAGES, now)
            await self.server.store.write(lambda tx, project=project: tx.projects.insert(project))
        for seat in SEATS:
            await self.register(seat)

    async def register(self, seat: str) -> None:
        mode, project = SEATS[seat]
        request = session_ops.RegisterSession(project=project, name=seat, mode=session_ops.SessionMode(mode))
        made = await self.server.call(session_ops.REGISTER, request, caller=person_caller("dana"))
        self.tokens[seat], self.sessions[seat] = made.token, made.id

    # Calls to the server, compared with the model.

    def actor(self, seat: str) -> Actor:
        if seat == "dana":
            return Actor("dana", "person")
        mode, project = SEATS[seat]
        return Actor(self.sessions[seat], "coordinator" if mode == "coordinate" else "worker", project)

    async def caller(self, seat: str) -> Caller:
        if seat == "dana":
            return person_caller("dana")
        return await self.server.identify(token=self.tokens[seat], peer=None)

    def pick(self, index: int) -> str:
        return list(self.model.tasks)[index % len(self.model.tasks)]

    def fence(self, kind: str, task_id: str) -> int | None:
        present = self.model.tasks[task_id].fence
        return {"none": None, "present": present, "old": max(present - 1, 0), "future": present + 1}[kind]

    def do(
        self,
        seat: str,
        operation: Operation,
        request: Any,
        rules: Callable[[Model, Actor], None],
        *,
        about: str | None = None,
        key: str = "",
    ) -> Any | None:
        """Call an operation and compare the outcome with the rules. Return the answer, or None after a refusal."""
        before, after, refused = self.model, copy.deepcopy(self.model), None
        try:
            if about is not None:
                after.lapse(about, self.clock.now())
            rules(after, self.actor(seat))
        except Refused as no:
            refused = no

        async def call() -> Any:
            return await self.server.call(operation, request, caller=await self.caller(seat), key=key)

        try:
            answer = self.runner.run(call())
        except errors.MaestroError as error:
            assert refused, f"the server refused {operation.name}: {error}"
            assert isinstance(error, refused.kinds), f"{operation.name}: {error!r} instead of {refused}"
            self.check_refusal(error, about)
            return None
        assert not refused, f"the server accepted {operation.name}; the model expects {refused}"
        after.settle(before)
        self.model = after
        return answer

    def check_refusal(self, error: errors.MaestroError, about: str | None) -> None:
        """Check that a refusal names its causes: blockers, a stage or the allowed moves."""
        if isinstance(error, errors.NotReady) and about:
            blockers = {blocker["id"] for blocker in error.data["blockers"]}
            assert blockers == self.model.open_deps(about)
            assert (error.data["stage"] is not None) == self.model.stage_held(about)
        if isinstance(error, errors.IllegalMove):
            allowed = {
                name for name in error.data["allowed"] if TaskStatus(error.data["status"]) in TRANSITIONS[name]
            }
            assert allowed == set(error.data["allowed"]) and error.data["move"] not in allowed

    def able(self, task_id: str) -> str:
        """Return the seat of a task's holder; without a holder, the seat of the coordinator or the person."""
        task = self.model.tasks[task_id]
        seats = {self.actor(seat).name: seat for seat in ("dana", *SEATS)}
        return seats.get(task.holder or "", "lead" if task.project == HERE else "dana")

    def move(self, who: str, operation: Operation, index: int, fence: str, rules: Rules, **more: Any) -> None:
        task_id = self.pick(index)
        number = self.fence(fence, task_id)
        request = operation.request(id=task_id, fence=number, **more)
        self.about(who, operation, request, lambda model, actor, _: rules(model, actor, task_id, number))

    def about(self, who: str, operation: Operation, request: Any, rules: Rules) -> None:
        """Call an operation about one task."""
        task_id = request.id
        seat = self.able(task_id) if who == "able" else who
        self.do(seat, operation, request, lambda model, actor: rules(model, actor, task_id), about=task_id)

    # The rules: each method is a possible step.

    def create(
        self, seat: str, project: str, stage: str | None, parent: int | None, on: list[int], gates: bool, again: bool
    ) -> None:
        if len(self.model.tasks) >= TASKS_MAX:
            return
        seat = "dana" if seat == "able" else seat
        above = self.pick(parent) if parent is not None and self.model.tasks else None
        blockers = [self.pick(index) for index in on if self.model.tasks]

        def rules(model: Model, actor: Actor) -> None:
            model.may_write(actor, project)
            if gates:
                model.owners_only(actor)
            model.tasks["new"] = Told(project, gates=gates, stage=stage)
            for other in blockers:
                model.wait_on("new", other)
            if above:
                model.place(actor, "new", above)

        request = ops.CreateTask(
            project=project,
            title="A task",
            stage=stage,
            parent=above,
            depends_on=blockers,
            gates=["true"] if gates else [],
        )
        key = f"key-{self.fold.seq}" if again else ""
        answer = self.do(seat, ops.CREATE, request, rules, key=key)
        if answer is None:
            return
        self.numbers[project] += 1  # numbers increase, and the number of a deleted task is never used again
        assert answer.number == self.numbers[project]
        self.model.tasks = {answer.id if name == "new" else name: task for name, task in self.model.tasks.items()}
        if again:  # a request with the same key returns the first result and changes nothing
            twice = self.do(seat, ops.CREATE, request, lambda model, actor: None, key=key)
            assert twice is not None and twice.id == answer.id

    def start(self, who: str, index: int, lease: int) -> None:
        now = self.clock.now()
        request = ops.StartTask(id=self.pick(index), lease=lease * 1000)
        who = "w1" if who == "able" else who
        self.about(who, ops.START, request, lambda m, actor, task_id: m.start(actor, task_id, lease=lease, at=now))

    def release(self, who: str, index: int, fence: str) -> None:
        self.move(who, ops.RELEASE, index, fence, Model.release)

    def complete(self, who: str, index: int, fence: str, summary: str = "") -> None:
        self.move(who, ops.COMPLETE, index, fence, Model.complete, summary=summary)

    def reject(self, who: str, index: int, fence: str) -> None:
        now = self.clock.now()

        def rules(model: Model, actor: Actor, task_id: str, number: int | None) -> None:
            model.reject(actor, task_id, number, now)

        self.move(who, ops.REJECT, index, fence, rules, reason="not yet")

    def block(self, who: str, index: int, fence: str) -> None:
        self.move(who, ops.BLOCK, index, fence, Model.block, reason="needs a key")

    def unblock(self, who: str, index: int, fence: str) -> None:
        self.move(who, ops.UNBLOCK, index, fence, Model.unblock)

    def fail(self, who: str, index: int, fence: str) -> None:
        self.move(who, ops.FAIL, index, fence, Model.fail, reason="no")

    def cancel(self, who: str, index: int, fence: str) -> None:
        self.move(who, ops.CANCEL, index, fence, Model.cancel, reason="no")

    def reopen(self, who: str, index: int) -> None:
        self.about(who, ops.REOPEN, ops.OneTask(id=self.pick(index)), Model.reopen)

    def report(self, who: str, index: int, fence: str, kind: str) -> None:
        now = self.clock.now()

        def rules(model: Model, actor: Actor, task_id: str, number: int | None) -> None:
            model.report(actor, task_id, kind, number, now)

        self.move(who, ops.REPORT, index, fence, rules, kind=ReportKind(kind), text="a word")

    def depend(self, who: str, index: int, on: list[int]) -> None:
        others = [self.pick(other) for other in on]
        request = ops.DependTask(id=self.pick(index), on=others)
        self.about(who, ops.DEPEND, request, lambda m, actor, task_id: m.depend(actor, task_id, others))

    def undepend(self, who: str, index: int, other: int, real: bool) -> None:
        task_id, blocker = self.pick(index), self.pick(other)
        edges = [(waiter, on) for waiter, task in self.model.tasks.items() for on in sorted(task.on)]
        if real and edges:
            task_id, blocker = edges[index % len(edges)]
        request = ops.DependTask(id=task_id, on=[blocker], remove=True)
        self.about(who, ops.DEPEND, request, lambda m, actor, waiter: m.undepend(actor, waiter, blocker))

    def edit_parent(self, who: str, index: int, parent: int | None) -> None:
        above = self.pick(parent) if parent is not None else None

        def rules(model: Model, actor: Actor, task_id: str) -> None:
            model.may_move(actor, task_id)
            if above is None:
                model.tasks[task_id].parent = None
            else:
                model.place(actor, task_id, above)

        self.about(who, ops.EDIT, ops.EditTask(id=self.pick(index), parent=above or ""), rules)

    def edit_stage(self, who: str, index: int, stage: str | None) -> None:
        def rules(model: Model, actor: Actor, task_id: str) -> None:
            model.may_move(actor, task_id)
            model.tasks[task_id].stage = stage

        self.about(who, ops.EDIT, ops.EditTask(id=self.pick(index), stage=stage or ""), rules)

    def edit_words(self, who: str, index: int, gates: bool | None, archived: bool) -> None:
        def rules(model: Model, actor: Actor, task_id: str) -> None:
            model.may_move(actor, task_id)
            if gates is not None:
                model.owners_only(actor)
                model.tasks[task_id].gates = gates
            model.tasks[task_id].archived = archived

        commands = None if gates is None else ["true"] if gates else []
        request = ops.EditTask(id=self.pick(index), title="Other words", gates=commands, archived=archived)
        self.about(who, ops.EDIT, request, rules)

    def delete(self, who: str, index: int) -> None:
        if len(self.model.tasks) > 4:
            self.about(who, ops.REMOVE, ops.OneTask(id=self.pick(index)), Model.delete)

    def end_session(self, seat: str, by_itself: bool) -> None:
        """End a session, keep its void token, and register a new session for the seat."""
        name = self.sessions[seat]
        request = session_ops.EndSession(id=None if by_itself else name)
        self.do(seat if by_itself else "dana", session_ops.END, request, lambda model, _: model.end_session(name))
        self.void.append(self.tokens[seat])
        self.runner.run(self.register(seat))

    def use_void_token(self, index: int) -> None:
        if self.void:
            with pytest.raises(errors.NotAuthenticated):
                self.runner.run(self.server.identify(token=self.void[index % len(self.void)], peer=None))

    def heartbeat(self, seat: str) -> None:
        now = self.clock.now()
        self.do(
            seat, session_ops.HEARTBEAT, session_ops.SendHeartbeat(), lambda model, actor: model.renew(actor, now)
        )

    def pass_time(self, seconds: int) -> None:
        self.clock.advance(seconds)

    def take_expired_claims_back(self) -> None:
        before, now = copy.deepcopy(self.model), self.clock.now()
        for task_id in self.model.tasks:
            self.model.lapse(task_id, now)
        self.model.settle(before)
        due = self.runner.run(self.server.parts.tasks.claim_expiry.run_once())
        running = [task.until for task in self.model.tasks.values() if task.until and task.status != "in_review"]
        assert due == min(running, default=None)

    def work(self, index: int, worker: str, choice: int) -> None:
        """Make a usual move by a usual caller, so that tasks advance far."""
        names = list(self.model.tasks)
        stuck = [name for name in names if self.model.tasks[name].status in ("todo", "completed")]
        able = [name for name in names if name not in stuck or self.model.ready(name)] or names
        index = names.index(able[index % len(able)])
        match self.model.tasks[names[index]].status:
            case "todo":
                self.start(worker, index, 600)
            case "in_progress":
                less_usual = {7: self.release, 8: self.block, 9: self.fail}
                less_usual.get(choice, self.complete)("able", index, "present")
            case "in_review":
                by = "able" if choice < 3 else "lead"  # a worker cannot complete its own task in review
                (self.reject if choice > 7 else self.complete)(by, index, "present")
            case "blocked":
                self.unblock("able", index, "present")
            case "failed" | "cancelled":
                self.reopen("dana", index)

    # Checks after each step.

    def tables_log_and_model_agree(self) -> None:
        self.read_log()
        rows = self.tables()
        ready = {task_id for task_id in self.model.tasks if self.model.ready(task_id)}
        assert rows == {task_id: self.expected(task_id) for task_id in self.model.tasks}
        edges = set(self.database.execute("SELECT task_id, depends_on_id FROM task_dependencies"))
        assert edges == {(task_id, other) for task_id, task in self.model.tasks.items() for other in task.on}
        self.compare_log(edges)
        self.compare_ready(self.was_ready, ready)
        self.check_graph(edges)
        self.was_ready = ready

    def tables(self) -> dict[str, dict[str, Any]]:
        query = (
            "SELECT id, status, holder, fence, lease_seconds, lease_until, stage, parent_id, archived,"
            " open_blockers, stage_held FROM tasks"
        )
        with closing(self.database.execute(query)) as cursor:
            names = [column[0] for column in cursor.description]
            return {row[0]: dict(zip(names, row, strict=True)) for row in cursor}

    def expected(self, task_id: str) -> dict[str, Any]:
        task = self.model.tasks[task_id]
        return {
            "id": task_id,
            "status": task.status,
            "holder": task.holder,
            "fence": task.fence,
            "lease_seconds": task.lease,
            "lease_until": to_micros(task.until) if task.until else None,
            "stage": task.stage,
            "parent_id": task.parent,
            "archived": int(task.archived),
            "open_blockers": len(self.model.open_deps(task_id)),
            "stage_held": int(self.model.stage_held(task_id)),
        }

    def read_log(self) -> None:
        self.fold.became_ready.clear()
        events = self.runner.run(self.server.store.read(lambda tx: tx.events.list_after(self.fold.seq, limit=1000)))
        for event in events:
            self.fold.take(event.seq, event.kind, event.subject, event.data)

    def compare_log(self, edges: set[tuple[str, str]]) -> None:
        assert self.fold.edges == edges
        for task_id, task in self.model.tasks.items():
            told = (self.fold.status[task_id], self.fold.holder[task_id], self.fold.fence[task_id])
            assert told == (task.status, task.holder, task.fence)
        assert set(self.fold.status) == set(self.model.tasks)

    def compare_ready(self, before: set[str], now: set[str]) -> None:
        """Check that the log reports each newly ready task once, and no task that was ready before."""
        for task_id in self.model.tasks:
            said = self.fold.became_ready.count(task_id)
            if task_id in now:
                assert said == (task_id not in before), f"the log reports {task_id} as ready {said} times"
            else:
                assert said <= 1
        listed = self.runner.run(
            self.server.store.read(lambda tx: tx.tasks.list_ready(HERE, parent_id=None, after=(-1, 0), limit=100))
        )
        shown = {t for t in now if self.model.tasks[t].project == HERE and not self.model.tasks[t].archived}
        assert {task.id for task in listed} == shown

    def check_graph(self, edges: set[tuple[str, str]]) -> None:
        """Check that each edge leads to a lower rank, and that a search in the model finds no cycle."""
        ranks = dict(self.database.execute("SELECT id, rank FROM tasks"))
        for waiter, blocker in edges:
            assert ranks[blocker] < ranks[waiter]
        for task_id, task in self.model.tasks.items():
            if task.parent:
                assert ranks[task_id] < ranks[task.parent]
            below = {*task.on, *(c for c, child in self.model.tasks.items() if child.parent == task_id)}
            assert not any(self.model.reaches(other, task_id) for other in below), f"{task_id} is part of a cycle"


Step = tuple[str, tuple[Any, ...]]


def steps(dice: random.Random, count: int) -> list[Step]:
    """Return a random sequence of steps, of which the server must refuse many."""
    stages = [None, None, None, *STAGES]

    def task() -> int:
        return dice.randrange(TASKS_MAX)

    def new(who: str) -> tuple[Any, ...]:
        parent = task() if dice.random() < 0.5 else None
        on = [task() for _ in range(dice.choice([0, 0, 1, 2]))]
        project = ELSEWHERE if dice.random() < 0.15 else HERE
        return who, project, dice.choice(stages), parent, on, dice.random() < 0.25, dice.random() < 0.2

    def who() -> str:
        return dice.choice(PEOPLE)

    def moving() -> tuple[Any, ...]:
        return who(), task(), dice.choice(FENCES)

    kinds: dict[str, tuple[int, Callable[[], tuple[Any, ...]]]] = {
        "work": (50, lambda: (task(), dice.choice(["w1", "w2", "dana"]), dice.randrange(10))),
        "create": (8, lambda: new(who())),
        "start": (4, lambda: (who(), task(), dice.choice([5, 60, 600]))),
        **dict.fromkeys(("release", "complete", "reject", "block", "unblock", "fail", "cancel"), (2, moving)),
        "reopen": (3, lambda: (who(), task())),
        "report": (4, lambda: (*moving(), dice.choice([kind.value for kind in ReportKind]))),
        "depend": (6, lambda: (who(), task(), [task() for _ in range(dice.choice([1, 1, 2]))])),
        "undepend": (3, lambda: (who(), task(), task(), dice.random() < 0.8)),
        "edit_parent": (5, lambda: (who(), task(), task() if dice.random() < 0.7 else None)),
        "edit_stage": (4, lambda: (who(), task(), dice.choice([None, *STAGES]))),
        "edit_words": (2, lambda: (who(), task(), dice.choice([None, True, False]), dice.random() < 0.3)),
        "delete": (3, lambda: (who(), task())),
        "end_session": (2, lambda: (dice.choice(list(SEATS)), dice.random() < 0.5)),
        "use_void_token": (1, lambda: (task(),)),
        "heartbeat": (4, lambda: (dice.choice(list(SEATS)),)),
        "pass_time": (4, lambda: (dice.choice([1, 4, 30, 400, 4000]),)),
        "take_expired_claims_back": (3, tuple),
    }
    begin: list[Step] = [("create", new("dana")) for _ in range(dice.randint(3, 10))]
    names = dice.choices(list(kinds), [weight for weight, _ in kinds.values()], k=count)
    return begin + [(name, kinds[name][1]()) for name in names]


def play(course: list[Step]) -> AssertionError | errors.MaestroError | None:
    """Run a sequence of steps, and return the error of the first wrong step, if there is one."""
    machine = Machine()
    try:
        for name, values in course:
            if machine.model.tasks or name == "create":
                getattr(machine, name)(*values)
                machine.tables_log_and_model_agree()
    except (AssertionError, errors.MaestroError) as error:
        return error
    finally:
        machine.close()
    return None


def shortest(course: list[Step]) -> list[Step]:
    """Remove all steps that are not needed for the error, and return the remaining steps."""
    size = len(course) // 2
    while size >= 1:
        place = 0
        while place < len(course):
            shorter = course[:place] + course[place + size :]
            if play(shorter) is not None:
                course = shorter
            else:
                place += size
        size //= 2
    return course


def try_seed(seed: int, count: int) -> None:
    course = steps(random.Random(seed), count)
    if play(course) is not None:
        course = shortest(course)
        told = "\n".join(f"machine.{name}{values}" for name, values in course)
        raise AssertionError(f"seed {seed}:\n{told}") from play(course)


@pytest.mark.parametrize("seed", range(60))
def test_the_server_agrees_with_the_model_for_short_sequences_of_steps(seed: int) -> None:
    try_seed(seed, 150)


@pytest.mark.slow
@pytest.mark.rounds
@pytest.mark.timeout(600)
def test_the_server_agrees_with_the_model_for_many_long_sequences_of_steps() -> None:
    first, count = rounds.round_seed(), rounds.round_count(60, full=1000)
    for seed in range(first, first + count):
        try_seed(seed, 300)
    rounds.report_rounds("task machine", count, seed=first, different=0)


class TaskMoves(RuleBasedStateMachine):
    """The same steps and the same model; hypothesis chooses and shortens the sequences."""

    def __init__(self) -> None:
        super().__init__()
        self.machine = Machine()

    @initialize(dice=st.randoms(use_true_random=False))
    def begin(self, dice: random.Random) -> None:
        for name, values in steps(dice, 0):
            self.take(name, values)

    @rule(dice=st.randoms(use_true_random=False))
    def move(self, dice: random.Random) -> None:
        self.take(*steps(dice, 1)[-1])

    def take(self, name: str, values: tuple[Any, ...]) -> None:
        if self.machine.model.tasks or name == "create":
            getattr(self.machine, name)(*values)
            self.machine.tables_log_and_model_agree()

    def teardown(self) -> None:
        self.machine.close()


TestTaskMoves = TaskMoves.TestCase
TestTaskMoves.settings = settings(
    max_examples=15, stateful_step_count=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
