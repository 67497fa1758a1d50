"""Moving tasks, and all that follows from a move in the same transaction.

A completed task unblocks its dependants, may open the next stage and may complete its parent; a reopened one takes
that back, but never pulls running work back.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from maestro import ids, limits
from maestro.domain import tasks
from maestro.domain.callers import Caller, Role
from maestro.domain.documents import Report, ReportKind
from maestro.domain.events import Change, Kind
from maestro.domain.tasks import Move, Status, Task
from maestro.errors import ClaimLost, Conflict, NotReady
from maestro.operations import task_shapes as ops
from maestro.services.scope import may_move, may_write, task_of
from maestro.store.base import Tx

# What the server does by itself stands in the log under its own name.
_SERVER = Caller(Role.PERSON, "maestro")
_Decide = Callable[[Task], Move]


class Outcome:
    """What one request has set off, to be told to its caller."""

    def __init__(self, tx: Tx, caller: Caller) -> None:
        self.tx = tx
        self.caller = caller
        self.unblocked: list[str] = []
        self.warnings: list[str] = []

    def apply(self, move: Move) -> Task:
        """Write a move and everything that follows from it."""
        before, after = move.before, move.after
        self.tx.tasks.move(before, after)
        self.tx.log(*move.changes, actor=self.caller.name)
        self._tell_dependants(before, after)
        if before.stage is not None and _is_open(before) != _is_open(after):
            self.settle_stages(after.project_id, after.parent_id)
        if after.status is Status.TODO and tasks.is_ready(after):
            self.became_ready(after)
        if after.parent_id is not None and not _is_open(after):
            self._roll_up(after.parent_id)
        return after

    def became_ready(self, task: Task) -> None:
        """Say so; a parent whose children have all been done meanwhile completes at once."""
        if self.tx.tasks.children_are_done(task.id):
            self.apply(tasks.roll_up(task, at=self.tx.at))
        else:
            self.say_ready(task)

    def say_ready(self, task: Task) -> None:
        """Log it, and remember it for the answer."""
        self.unblocked.append(task.ref)
        self.tx.log(Change(Kind.TASK_READY, task.id, task.project_id, {"ref": task.ref}), actor=self.caller.name)

    def settle_stages(self, project_id: str, parent_id: str | None) -> None:
        """Hold each stage of a scope back while an earlier one has open tasks, and let go what may go."""
        project = self.tx.projects.get(project_id)
        held = False
        for stage in project.stages if project else []:
            for task in self.tx.tasks.hold_stage(project_id, parent_id, stage, held=held):
                if task.ready:
                    self.became_ready(task)
            held = held or self.tx.tasks.stage_has_open(project_id, parent_id, stage)

    def answer(self, task: Task) -> ops.MovedTask:
        """The task as it now is, with what happened besides."""
        return self.told(self.tx.tasks.get(task.id) or task)

    def told(self, task: Task) -> ops.MovedTask:
        """A task that is known to be as it now is, with what happened besides."""
        fields = msgspec.structs.asdict(task)
        others = [ref for ref in self.unblocked if ref != task.ref]
        return ops.MovedTask(**fields, unblocked=others, warnings=self.warnings)

    def _tell_dependants(self, before: Task, after: Task) -> None:
        was, now = before.status is Status.COMPLETED, after.status is Status.COMPLETED
        if was == now:
            return
        for task in self.tx.tasks.shift_blockers(after.id, -1 if now else 1):
            if now and task.ready:
                self.became_ready(task)
            elif not now and task.status is not Status.TODO:
                self.warnings.append(
                    f"{task.ref} is {task.status} and depends on {after.ref}, which is open again; it goes on."
                )

    def _roll_up(self, parent_id: str) -> None:
        parent = self.tx.tasks.get(parent_id)
        if parent is None or parent.status not in tasks.TRANSITIONS["roll_up"]:
            return
        waits = parent.open_blockers > 0 or parent.stage_held
        if not waits and self.tx.tasks.children_are_done(parent_id):
            self.apply(tasks.roll_up(parent, at=self.tx.at))


def current(tx: Tx, caller: Caller, ref: str, *, project: str = "") -> Task:
    """A task as it stands now: a lease that ran out is acted on before anything else."""
    task = task_of(tx, caller, ref, project=project)
    if not tasks.lease_is_over(task, tx.at):
        return task
    return expire(tx, task)


def expire(tx: Tx, task: Task) -> Task:
    """Take back a claim whose lease ran out."""
    return Outcome(tx, _SERVER).apply(tasks.expire(task, at=tx.at))


def start(tx: Tx, caller: Caller, request: ops.StartTask) -> ops.MovedTask:
    """Claim and start are one move: compare, swap, lease, new fence."""
    task = current(tx, caller, request.id, project=request.project)
    may_write(caller, tx.projects.get(task.project_id))
    if task.holder is not None and task.status in (Status.IN_PROGRESS, Status.BLOCKED):
        whose = "You hold" if task.holder == caller.name else f"{task.holder} holds"
        raise ClaimLost(
            f"{whose} {task.ref} already.",
            data={"id": task.id, "holder": task.holder, "fence": task.fence, "lease_until": task.lease_until},
        )
    tasks.require(task, "start")
    if not tasks.is_ready(task):
        raise not_ready(tx, task)
    lease = request.lease // 1000 if caller.is_session else None
    outcome = Outcome(tx, caller)
    return outcome.answer(outcome.apply(tasks.start(task, holder=caller.name, lease_seconds=lease, at=tx.at)))


def release(tx: Tx, caller: Caller, request: ops.HeldTask) -> ops.MovedTask:
    return _moved(tx, caller, request, lambda task: tasks.release(task, at=tx.at))


def complete(tx: Tx, caller: Caller, request: ops.CompleteTask) -> ops.MovedTask:
    if request.summary:
        task = current(tx, caller, request.id, project=request.project)
        may_move(tx, caller, task, fence=request.fence)
        _record(tx, caller, task, ReportKind.COMPLETE, request.summary)
    return _moved(tx, caller, request, lambda task: _completion(tx, caller, task))


def reject(tx: Tx, caller: Caller, request: ops.ReasonedTask) -> ops.MovedTask:
    return _moved(tx, caller, request, lambda task: tasks.reject(task, reason=request.reason, at=tx.at))


def block(tx: Tx, caller: Caller, request: ops.BlockTask) -> ops.MovedTask:
    return _moved(tx, caller, request, lambda task: tasks.block(task, reason=request.reason, at=tx.at))


def unblock(tx: Tx, caller: Caller, request: ops.HeldTask) -> ops.MovedTask:
    return _moved(tx, caller, request, lambda task: tasks.unblock(task, at=tx.at))


def fail(tx: Tx, caller: Caller, request: ops.ReasonedTask) -> ops.MovedTask:
    return _moved(tx, caller, request, lambda task: tasks.fail(task, reason=request.reason, at=tx.at))


def cancel(tx: Tx, caller: Caller, request: ops.ReasonedTask) -> ops.MovedTask:
    return _moved(tx, caller, request, lambda task: tasks.cancel(task, reason=request.reason, at=tx.at))


def reopen(tx: Tx, caller: Caller, request: ops.OneTask) -> ops.MovedTask:
    task = current(tx, caller, request.id, project=request.project)
    may_move(tx, caller, task)
    outcome = Outcome(tx, caller)
    return outcome.answer(outcome.apply(tasks.reopen(task, at=tx.at)))


def report(tx: Tx, caller: Caller, request: ops.ReportTask) -> ops.ReportedTask:
    """One truth: what is reported is what the task then is."""
    task = current(tx, caller, request.id, project=request.project)
    may_move(tx, caller, task, fence=request.fence)
    move = _reported_move(tx, caller, task, request)
    kept = _record(tx, caller, task, request.kind, request.text)
    if caller.session_id is not None:
        tx.tasks.renew(caller.session_id, at=tx.at)
    outcome = Outcome(tx, caller)
    if move is not None:
        outcome.apply(move)
    answer = msgspec.structs.asdict(outcome.answer(task))
    return ops.ReportedTask(**answer, report=kept)


def _reported_move(tx: Tx, caller: Caller, task: Task, request: ops.ReportTask) -> Move | None:
    match request.kind:
        case ReportKind.PROGRESS:
            return None
        case ReportKind.COMPLETE:
            return _completion(tx, caller, task)
        case ReportKind.BLOCKED:
            return tasks.block(task, reason=request.text, at=tx.at)
        case ReportKind.ERROR:
            return tasks.fail(task, reason=request.text, at=tx.at)


def _completion(tx: Tx, caller: Caller, task: Task) -> Move:
    """A worker's word takes a gated task to review; an owner's takes it on from there."""
    tasks.require(task, "complete")
    unfinished = tx.tasks.unfinished_children(task.id, limit=limits.blockers_shown_max)
    if unfinished:
        raise Conflict(
            f"{task.ref} has unfinished children: {', '.join(child.ref for child in unfinished)}.",
            hint="A parent completes by itself when its children have.",
            data={"children": [child.ref for child in unfinished]},
        )
    accepted = task.status is Status.IN_REVIEW and caller.role is not Role.WORKER
    if task.status is Status.IN_REVIEW and not accepted:
        raise Conflict(
            f"{task.ref} is in review: its gates, the person or a coordinator complete it.",
            data={"id": task.id, "status": task.status},
        )
    return tasks.complete(task, accepted=accepted, at=tx.at)


def _moved(tx: Tx, caller: Caller, request: ops.HeldTask, move: _Decide) -> ops.MovedTask:
    task = current(tx, caller, request.id, project=request.project)
    may_move(tx, caller, task, fence=request.fence)
    outcome = Outcome(tx, caller)
    return outcome.answer(outcome.apply(move(task)))


def _record(tx: Tx, caller: Caller, task: Task, kind: ReportKind, text: str) -> Report:
    kept = Report(ids.new("rep", tx.at), task.id, kind, text, caller.name, tx.at)
    tx.documents.insert_report(kept)
    data = {"ref": task.ref, "report": kept.id, "kind": kind.value, "text": text[:500]}
    tx.log(Change(Kind.TASK_REPORTED, task.id, task.project_id, data), actor=caller.name)
    return kept


def not_ready(tx: Tx, task: Task) -> NotReady:
    """Why a task cannot be started, with everything it waits on."""
    blockers = tx.tasks.blockers(task.id, limit=limits.blockers_shown_max)
    reasons = [f"{blocker.ref} ({blocker.status})" for blocker in blockers]
    stage = earlier_stage(tx, task)
    if stage is not None:
        reasons.append(f"stage {stage}")
    return NotReady(
        f"{task.ref} is not ready: it waits on {', '.join(reasons)}.",
        hint="`maestro task ready` lists what can be started now.",
        data={
            "id": task.id,
            "blockers": [{"ref": b.ref, "id": b.id, "status": b.status, "title": b.title} for b in blockers],
            "stage": stage,
        },
    )


def earlier_stage(tx: Tx, task: Task) -> str | None:
    """The stage that holds a task back."""
    project = tx.projects.get(task.project_id)
    if not task.stage_held or project is None or task.stage not in project.stages:
        return None
    for stage in project.stages[: project.stages.index(task.stage)]:
        if tx.tasks.stage_has_open(task.project_id, task.parent_id, stage):
            return stage
    return None


def _is_open(task: Task) -> bool:
    return task.status not in (Status.COMPLETED, Status.CANCELLED)
