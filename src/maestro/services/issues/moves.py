"""Claim, close and reopen issues by moving their tasks."""

from __future__ import annotations

from maestro.core import errors
from maestro.domain import tasks
from maestro.domain.callers import Caller, Role
from maestro.domain.issues import Issue, Side, is_closed
from maestro.domain.tasks import Status, Task
from maestro.operations import issues as ops
from maestro.operations import mail_shapes
from maestro.operations.task_shapes import CompleteTask, HeldTask, MovedTask, StartTask
from maestro.services.issues.conversation import speaks_for
from maestro.services.mail import threads
from maestro.services.mail.threads import message_of
from maestro.services.runs.ownership import require_own_runs
from maestro.services.scope import may_move, may_write, project_of
from maestro.services.tasks import moves
from maestro.services.tasks.consequences import Outcome
from maestro.store.base import Tx


def named(tx: Tx, caller: Caller, ref: str, *, project: str) -> tuple[Issue, Task]:
    """Return an issue and its task by reference: `beads#12`, `#12` in its project, or the task's id."""
    task = moves.current(tx, caller, ref, project=project)
    return issue_of(tx, task), task


def issue_of(tx: Tx, task: Task) -> Issue:
    """Return the issue of a task, or raise `NotFound` for a task that is no issue."""
    issue = tx.issues.of_task(task.id)
    if issue is None:
        raise errors.NotFound(
            f"{task.ref} is a task of its own project, not an issue.",
            hint=f"Show the task: maestro task show '{task.ref}'",
        )
    return issue


def claim(tx: Tx, caller: Caller, request: ops.ClaimIssue) -> MovedTask:
    """Claim an issue together with its thread."""
    _, task = named(tx, caller, request.id, project=request.project)
    return moves.start(tx, caller, StartTask(id=task.id, lease=request.lease))


def close(tx: Tx, caller: Caller, request: ops.CloseIssue) -> MovedTask:
    """Close an issue as done or as not to be fixed, and inform its opener.

    A coordinator or the person of the asked project need not claim the issue first.
    """
    _, task = named(tx, caller, request.id, project=request.project)
    may_move(tx, caller, task, fence=request.fence)
    outcome = Outcome(tx, caller, said=request.message)
    if request.wont_fix:
        if caller.role is Role.WORKER:
            raise errors.NotPermitted(
                f"A worker may not close {task.ref} with --wont-fix.",
                hint="Ask your coordinator, or report the issue: session report blocked",
            )
        require_own_runs(tx, caller, task)
        return outcome.answer(outcome.apply(tasks.cancel(task, reason=request.message, at=tx.at)))
    if task.status is Status.TODO and caller.role is not Role.WORKER:
        lease = StartTask(id=task.id).lease // 1000 if caller.is_session else None
        tasks.require(task, "start")
        if not tasks.is_ready(task):
            raise moves.not_ready(tx, task)
        task = outcome.apply(tasks.start(task, holder=caller.name, lease_seconds=lease, at=tx.at))
    return moves.complete(tx, caller, CompleteTask(id=task.id, summary=request.message))


def reopen(tx: Tx, caller: Caller, request: ops.ReopenIssue) -> MovedTask:
    """Reopen an issue. The asking project may do so only if the asked project lets replies reopen issues."""
    issue, task = named(tx, caller, request.id, project=request.project)
    speaking_project_id = project_of(tx, caller, request.project).id if request.project else None
    if speaks_for(caller, issue, task, here=speaking_project_id) is Side.OPENER:
        receiver = tx.projects.get(task.project_id)
        if caller.is_session and receiver is not None and not receiver.replies_reopen:
            raise errors.NotPermitted(
                f"{receiver.name} does not let other projects reopen its issues.",
                hint=f"Open a new issue: maestro issue open {receiver.name} --title … --message …",
            )
    else:
        may_write(caller, tx.projects.get(task.project_id))
    outcome = Outcome(tx, caller)
    return outcome.answer(outcome.apply(tasks.reopen(task, at=tx.at)))


def claim_thread(tx: Tx, caller: Caller, request: mail_shapes.OneThread) -> mail_shapes.ThreadClaim:
    """Claim a thread. A claim of an issue's thread claims the issue."""
    thread_id = message_of(tx, caller, request.id).thread_id
    issue_task = _issue_task_of_thread(tx, thread_id)
    if issue_task is None or is_closed(issue_task) or issue_task.holder == caller.name:
        return threads.claim(tx, caller, request)
    moves.start(tx, caller, StartTask(id=issue_task.id))
    return mail_shapes.ThreadClaim(thread_id=thread_id, claimed_by=caller.name)


def release_thread(tx: Tx, caller: Caller, request: mail_shapes.OneThread) -> mail_shapes.ThreadClaim:
    """Release a thread. A release of an issue's thread releases the issue."""
    thread_id = message_of(tx, caller, request.id).thread_id
    issue_task = _issue_task_of_thread(tx, thread_id)
    if issue_task is None or issue_task.status is not Status.IN_PROGRESS:
        return threads.release(tx, caller, request)
    moves.release(tx, caller, HeldTask(id=issue_task.id))
    return mail_shapes.ThreadClaim(thread_id=thread_id, claimed_by=None)


def _issue_task_of_thread(tx: Tx, thread_id: str) -> Task | None:
    issue = tx.issues.of_thread(thread_id)
    return tx.tasks.get(issue.task_id) if issue else None
