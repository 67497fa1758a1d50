"""Move tasks between statuses. Each use case decides one move; `consequences` applies the move and its effects."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from maestro.core import ids, limits
from maestro.core.errors import AlreadyHeld, Conflict, NotReady
from maestro.domain import tasks
from maestro.domain.callers import SERVER_CALLER, Caller, Role
from maestro.domain.documents import ReportKind, TaskReport
from maestro.domain.events import EventKind, NewEvent
from maestro.domain.tasks import Task, TaskMove, TaskStatus
from maestro.operations import task_shapes as ops
from maestro.services.access.scope import find_task, require_movable_task, require_own_project
from maestro.services.sessions import report_effects
from maestro.services.sessions.run_ownership import require_own_runs
from maestro.services.tasks.consequences import TaskConsequences
from maestro.store.base import Tx

_DecideMove = Callable[[Task], TaskMove]


def current_task(tx: Tx, caller: Caller, ref: str, *, project: str = "") -> Task:
    """Return the task as it is now. A claim whose lease has run out expires first."""
    task = find_task(tx, caller, ref, project=project)
    if not tasks.is_lease_over(task, tx.at):
        return task
    return expire_claim(tx, task)


def expire_claim(tx: Tx, task: Task) -> Task:
    """Release the claim of a task whose lease has run out."""
    return TaskConsequences(tx, SERVER_CALLER).apply_move(tasks.expire(task, at=tx.at))


def start_task(tx: Tx, caller: Caller, request: ops.StartTask) -> ops.MovedTask:
    """Claim and start a task in one move, with a lease and a new fence."""
    task = current_task(tx, caller, request.id, project=request.project)
    require_own_project(caller, tx.projects.get(task.project_id))
    if task.holder is not None and task.status in (TaskStatus.IN_PROGRESS, TaskStatus.BLOCKED):
        is_own = task.holder == caller.name
        holder = "You already hold" if is_own else f"{task.holder_name or task.holder} already holds"
        raise AlreadyHeld(
            f"{holder} {task.ref}.",
            hint="" if is_own else "Wait for the task, or take another task: `maestro task ready`.",
            data={"id": task.id, "holder": task.holder, "fence": task.fence, "lease_until": task.lease_until},
        )
    tasks.require_move(task, "start")
    if not tasks.is_ready(task):
        raise not_ready_error(tx, task)
    lease = request.lease // 1000 if caller.is_session else None
    outcome = TaskConsequences(tx, caller)
    name = caller.title if caller.is_session else None
    move = tasks.start(task, holder=caller.name, holder_name=name, lease_seconds=lease, at=tx.at)
    started = outcome.apply_move(move)
    report_effects.mark_working(tx, caller)
    return outcome.answer_with_stored(started)


def release_task(tx: Tx, caller: Caller, request: ops.HeldTask) -> ops.MovedTask:
    return _apply_move(tx, caller, request, lambda task: tasks.release(task, at=tx.at))


def complete_task(tx: Tx, caller: Caller, request: ops.CompleteTask) -> ops.MovedTask:
    if request.summary:
        task = current_task(tx, caller, request.id, project=request.project)
        require_movable_task(tx, caller, task, fence=request.fence)
        _record_report(tx, caller, task, ReportKind.COMPLETE, request.summary)
    implied = (ReportKind.COMPLETE, request.summary)
    return _apply_move(tx, caller, request, lambda task: _completion(tx, caller, task), implied_report=implied)


def reject_task(tx: Tx, caller: Caller, request: ops.ReasonedTask) -> ops.MovedTask:
    return _apply_move(tx, caller, request, lambda task: tasks.reject(task, reason=request.reason, at=tx.at))


def block_task(tx: Tx, caller: Caller, request: ops.BlockTask) -> ops.MovedTask:
    implied = (ReportKind.BLOCKED, request.reason)
    return _apply_move(
        tx, caller, request, lambda task: tasks.block(task, reason=request.reason, at=tx.at), implied_report=implied
    )


def unblock_task(tx: Tx, caller: Caller, request: ops.HeldTask) -> ops.MovedTask:
    return _apply_move(tx, caller, request, lambda task: tasks.unblock(task, at=tx.at))


def fail_task(tx: Tx, caller: Caller, request: ops.ReasonedTask) -> ops.MovedTask:
    implied = (ReportKind.ERROR, request.reason or "The task has failed.")
    return _apply_move(
        tx,
        caller,
        request,
        lambda task: tasks.fail(task, reason=request.reason, at=tx.at),
        implied_report=implied,
        ends=True,
    )


def cancel_task(tx: Tx, caller: Caller, request: ops.ReasonedTask) -> ops.MovedTask:
    return _apply_move(
        tx, caller, request, lambda task: tasks.cancel(task, reason=request.reason, at=tx.at), ends=True
    )


def reopen_task(tx: Tx, caller: Caller, request: ops.OneTask) -> ops.MovedTask:
    task = current_task(tx, caller, request.id, project=request.project)
    require_movable_task(tx, caller, task)
    outcome = TaskConsequences(tx, caller)
    return outcome.answer_with_stored(outcome.apply_move(tasks.reopen(task, at=tx.at)))


def report_task(tx: Tx, caller: Caller, request: ops.ReportTask) -> ops.ReportedTask:
    """Record a report on a task and move the task accordingly, so that report and status always agree."""
    task = current_task(tx, caller, request.id, project=request.project)
    require_movable_task(tx, caller, task, fence=request.fence)
    if caller.session_id is not None and tx.tasks.renew_claims(caller.session_id, at=tx.at):
        task = tx.tasks.get(task.id) or task
    was_blocked = task.status is TaskStatus.BLOCKED
    if was_blocked and request.kind in (ReportKind.PROGRESS, ReportKind.COMPLETE):
        # A holder that reports progress or completion is no longer blocked. Unblocking may complete a parent.
        TaskConsequences(tx, caller).apply_move(tasks.unblock(task, at=tx.at))
        task = tx.tasks.get(task.id) or task
    is_completed = was_blocked and task.status is TaskStatus.COMPLETED
    move = None if is_completed else _reported_move(tx, caller, task, request)
    kept = _record_report(tx, caller, task, request.kind, request.text)
    outcome = TaskConsequences(tx, caller, message=request.text)
    if move is not None:
        outcome.apply_move(move)
    answer = msgspec.structs.asdict(outcome.answer_with_stored(task))
    report_effects.apply_task_report(
        tx, caller, task, request.kind, request.text, sets_status=task.holder == caller.session_id
    )
    return ops.ReportedTask(**answer, report=kept)


def _reported_move(tx: Tx, caller: Caller, task: Task, request: ops.ReportTask) -> TaskMove | None:
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


def _completion(tx: Tx, caller: Caller, task: Task) -> TaskMove:
    """Decide the move of a completion. A worker moves a gated task to review; an owner may then complete the task."""
    tasks.require_move(task, "complete")
    unfinished = tx.tasks.list_unfinished_children(task.id, limit=limits.blockers_shown_max)
    if unfinished:
        raise Conflict(
            f"{task.ref} has unfinished children: {', '.join(child.ref for child in unfinished)}.",
            hint="A parent completes by itself when its children are completed.",
            data={"children": [child.ref for child in unfinished]},
        )
    accepted = task.status is TaskStatus.IN_REVIEW and caller.role is not Role.WORKER
    if task.status is TaskStatus.IN_REVIEW and not accepted:
        raise Conflict(
            f"{task.ref} is in review: only its gates, the person or a coordinator can complete the task.",
            data={"id": task.id, "status": task.status},
        )
    return tasks.complete(task, accepted=accepted, merges=_is_to_be_merged(tx, task), at=tx.at)


def _is_to_be_merged(tx: Tx, task: Task) -> bool:
    """Return whether the holder's branch must be merged first, as in a run with worktrees."""
    worktree = tx.worktrees.get(task.holder) if task.holder else None
    return worktree is not None and worktree.merges_into is not None and worktree.removed_at is None


def _apply_move(
    tx: Tx,
    caller: Caller,
    request: ops.HeldTask,
    move: _DecideMove,
    *,
    implied_report: tuple[ReportKind, str] | None = None,
    ends: bool = False,
) -> ops.MovedTask:
    """Check the caller's rights, and apply one move with its consequences.

    `implied_report` is the report that the move implies when the holder itself makes the move. `ends` marks a move
    that ends the work without a result, which only the owner of the task's run may do.
    """
    task = current_task(tx, caller, request.id, project=request.project)
    require_movable_task(tx, caller, task, fence=request.fence)
    if ends:
        require_own_runs(tx, caller, task)
    outcome = TaskConsequences(tx, caller, message=implied_report[1] if implied_report else "")
    moved = outcome.answer_with_stored(outcome.apply_move(move(task)))
    if implied_report is not None and task.holder == caller.session_id:
        kind, text = implied_report
        report_effects.apply_task_report(tx, caller, moved, kind, text or f"{moved.ref} is {moved.status}.")
    return moved


def _record_report(tx: Tx, caller: Caller, task: Task, kind: ReportKind, text: str) -> TaskReport:
    kept = TaskReport(ids.new_id("rep", tx.at), task.id, kind, text, caller.name, tx.at)
    tx.documents.insert_report(kept)
    data = {"ref": task.ref, "report": kept.id, "kind": kind.value, "text": text[:500]}
    tx.log(NewEvent(EventKind.TASK_REPORTED, task.id, task.project_id, data), actor=caller.name)
    return kept


def not_ready_error(tx: Tx, task: Task) -> NotReady:
    """Return the error for a task that cannot be started, with all blockers that the task waits on."""
    blockers = tx.tasks.list_blockers(task.id, limit=limits.blockers_shown_max)
    reasons = [f"{blocker.ref} ({blocker.status})" for blocker in blockers]
    stage = earlier_stage(tx, task)
    if stage is not None:
        reasons.append(f"stage {stage}")
    return NotReady(
        f"{task.ref} is not ready: it waits on {', '.join(reasons)}.",
        hint="`maestro task ready` lists the tasks that can be started now.",
        data={
            "id": task.id,
            "blockers": [{"ref": b.ref, "id": b.id, "status": b.status, "title": b.title} for b in blockers],
            "stage": stage,
        },
    )


def earlier_stage(tx: Tx, task: Task) -> str | None:
    """Return the earlier stage that holds the task back, if any."""
    project = tx.projects.get(task.project_id)
    if not task.stage_held or project is None or task.stage not in project.stages:
        return None
    for stage in project.stages[: project.stages.index(task.stage)]:
        if tx.tasks.has_open_in_stage(task.project_id, task.parent_id, stage):
            return stage
    return None
