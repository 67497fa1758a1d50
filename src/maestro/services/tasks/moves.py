"""Moving tasks: each use case decides one move, and `consequences` carries it out with all that follows."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from maestro.core import ids, limits
from maestro.core.errors import AlreadyHeld, Conflict, NotReady
from maestro.domain import tasks
from maestro.domain.callers import THE_SERVER, Caller, Role
from maestro.domain.documents import Report, ReportKind
from maestro.domain.events import Change, Kind
from maestro.domain.tasks import Move, Status, Task
from maestro.operations import task_shapes as ops
from maestro.services.runs.ownership import require_own_runs
from maestro.services.scope import may_move, may_write, task_of
from maestro.services.sessions import reports
from maestro.services.tasks.consequences import Outcome
from maestro.store.base import Tx

_Decide = Callable[[Task], Move]


def current(tx: Tx, caller: Caller, ref: str, *, project: str = "") -> Task:
    """A task as it stands now: a lease that ran out is acted on before anything else."""
    task = task_of(tx, caller, ref, project=project)
    if not tasks.lease_is_over(task, tx.at):
        return task
    return expire(tx, task)


def expire(tx: Tx, task: Task) -> Task:
    """Take back a claim whose lease ran out."""
    return Outcome(tx, THE_SERVER).apply(tasks.expire(task, at=tx.at))


def start(tx: Tx, caller: Caller, request: ops.StartTask) -> ops.MovedTask:
    """Claim and start are one move: compare, swap, lease, new fence."""
    task = current(tx, caller, request.id, project=request.project)
    may_write(caller, tx.projects.get(task.project_id))
    if task.holder is not None and task.status in (Status.IN_PROGRESS, Status.BLOCKED):
        whose = "You hold" if task.holder == caller.name else f"{task.holder_name or task.holder} holds"
        raise AlreadyHeld(
            f"{whose} {task.ref} already.",
            data={"id": task.id, "holder": task.holder, "fence": task.fence, "lease_until": task.lease_until},
        )
    tasks.require(task, "start")
    if not tasks.is_ready(task):
        raise not_ready(tx, task)
    lease = request.lease // 1000 if caller.is_session else None
    outcome = Outcome(tx, caller)
    name = caller.title if caller.is_session else None
    move = tasks.start(task, holder=caller.name, holder_name=name, lease_seconds=lease, at=tx.at)
    started = outcome.apply(move)
    reports.started(tx, caller)
    return outcome.answer(started)


def release(tx: Tx, caller: Caller, request: ops.HeldTask) -> ops.MovedTask:
    return _moved(tx, caller, request, lambda task: tasks.release(task, at=tx.at))


def complete(tx: Tx, caller: Caller, request: ops.CompleteTask) -> ops.MovedTask:
    if request.summary:
        task = current(tx, caller, request.id, project=request.project)
        may_move(tx, caller, task, fence=request.fence)
        _record(tx, caller, task, ReportKind.COMPLETE, request.summary)
    said = (ReportKind.COMPLETE, request.summary)
    return _moved(tx, caller, request, lambda task: _completion(tx, caller, task), said=said)


def reject(tx: Tx, caller: Caller, request: ops.ReasonedTask) -> ops.MovedTask:
    return _moved(tx, caller, request, lambda task: tasks.reject(task, reason=request.reason, at=tx.at))


def block(tx: Tx, caller: Caller, request: ops.BlockTask) -> ops.MovedTask:
    said = (ReportKind.BLOCKED, request.reason)
    return _moved(tx, caller, request, lambda task: tasks.block(task, reason=request.reason, at=tx.at), said=said)


def unblock(tx: Tx, caller: Caller, request: ops.HeldTask) -> ops.MovedTask:
    return _moved(tx, caller, request, lambda task: tasks.unblock(task, at=tx.at))


def fail(tx: Tx, caller: Caller, request: ops.ReasonedTask) -> ops.MovedTask:
    said = (ReportKind.ERROR, request.reason or "It has failed.")
    return _moved(
        tx, caller, request, lambda task: tasks.fail(task, reason=request.reason, at=tx.at), said=said, ends=True
    )


def cancel(tx: Tx, caller: Caller, request: ops.ReasonedTask) -> ops.MovedTask:
    return _moved(tx, caller, request, lambda task: tasks.cancel(task, reason=request.reason, at=tx.at), ends=True)


def reopen(tx: Tx, caller: Caller, request: ops.OneTask) -> ops.MovedTask:
    task = current(tx, caller, request.id, project=request.project)
    may_move(tx, caller, task)
    outcome = Outcome(tx, caller)
    return outcome.answer(outcome.apply(tasks.reopen(task, at=tx.at)))


def report(tx: Tx, caller: Caller, request: ops.ReportTask) -> ops.ReportedTask:
    """One truth: what is reported is what the task then is."""
    task = current(tx, caller, request.id, project=request.project)
    may_move(tx, caller, task, fence=request.fence)
    if caller.session_id is not None and tx.tasks.renew(caller.session_id, at=tx.at):
        task = tx.tasks.get(task.id) or task
    was_blocked = task.status is Status.BLOCKED
    if was_blocked and request.kind in (ReportKind.PROGRESS, ReportKind.COMPLETE):
        # Whoever goes on, or is done, is no longer blocked. A parent whose children are done is done by that.
        Outcome(tx, caller).apply(tasks.unblock(task, at=tx.at))
        task = tx.tasks.get(task.id) or task
    is_done = was_blocked and task.status is Status.COMPLETED
    move = None if is_done else _reported_move(tx, caller, task, request)
    kept = _record(tx, caller, task, request.kind, request.text)
    outcome = Outcome(tx, caller, said=request.text)
    if move is not None:
        outcome.apply(move)
    answer = msgspec.structs.asdict(outcome.answer(task))
    reports.told(tx, caller, task, request.kind, request.text, of_itself=task.holder == caller.session_id)
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
            require_own_runs(tx, caller, task)
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
    return tasks.complete(task, accepted=accepted, merges=_is_to_be_merged(tx, task), at=tx.at)


def _is_to_be_merged(tx: Tx, task: Task) -> bool:
    """In a run with worktrees a task counts only once its branch is in the run's own."""
    found = tx.worktrees.get(task.holder) if task.holder else None
    return found is not None and found.merges_into is not None and found.removed_at is None


def _moved(
    tx: Tx,
    caller: Caller,
    request: ops.HeldTask,
    move: _Decide,
    *,
    said: tuple[ReportKind, str] | None = None,
    ends: bool = False,
) -> ops.MovedTask:
    """One move. `said`: what it tells of the session that holds the task, where that one makes it itself.

    `ends`: the move ends the work on the task without a result, which only the owner of its run may do.
    """
    task = current(tx, caller, request.id, project=request.project)
    may_move(tx, caller, task, fence=request.fence)
    if ends:
        require_own_runs(tx, caller, task)
    outcome = Outcome(tx, caller, said=said[1] if said else "")
    moved = outcome.answer(outcome.apply(move(task)))
    if said is not None and task.holder == caller.session_id:
        kind, text = said
        reports.told(tx, caller, moved, kind, text or f"{moved.ref} is {moved.status}.")
    return moved


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
