"""Claim, close and reopen issues by moving their tasks."""

from __future__ import annotations

from maestro.core import errors
from maestro.domain import tasks
from maestro.domain.callers import Caller, Role
from maestro.domain.issues import Issue, IssueParty, is_closed
from maestro.domain.tasks import Task, TaskStatus
from maestro.operations import issues as ops
from maestro.operations import mail_shapes
from maestro.operations.task_shapes import CompleteTask, HeldTask, MovedTask, StartTask
from maestro.services.access.scope import find_project, require_movable_task, require_own_project
from maestro.services.issues.comments import party_of_caller
from maestro.services.mail import threads
from maestro.services.mail.threads import find_visible_message
from maestro.services.sessions.run_ownership import require_own_runs
from maestro.services.tasks import moves
from maestro.services.tasks.consequences import TaskConsequences
from maestro.store.base import Tx


def find_issue(tx: Tx, caller: Caller, ref: str, *, project: str) -> tuple[Issue, Task]:
    """Return an issue and its task by reference: `beads#12`, `#12` in its project, or the task's id."""
    task = moves.current_task(tx, caller, ref, project=project)
    return issue_of_task(tx, task), task


def issue_of_task(tx: Tx, task: Task) -> Issue:
    """Return the issue of a task, or raise `NotFound` for a task that is no issue."""
    issue = tx.issues.of_task(task.id)
    if issue is None:
        raise errors.NotFound(
            f"{task.ref} is a task of its own project, not an issue.",
            hint=f"Show the task: maestro task show '{task.ref}'",
        )
    return issue


def claim_issue(tx: Tx, caller: Caller, request: ops.ClaimIssue) -> MovedTask:
    """Claim an issue together with its thread."""
    _, task = find_issue(tx, caller, request.id, project=request.project)
    return moves.start_task(tx, caller, StartTask(id=task.id, lease=request.lease))


def close_issue(tx: Tx, caller: Caller, request: ops.CloseIssue) -> MovedTask:
    """Close an issue as done or as not to be fixed, and inform its opener.

    A coordinator or the person of the asked project need not claim the issue first.
    """
    _, task = find_issue(tx, caller, request.id, project=request.project)
    require_movable_task(tx, caller, task, fence=request.fence)
    outcome = TaskConsequences(tx, caller, message=request.message)
    if request.wont_fix:
        if caller.role is Role.WORKER:
            raise errors.NotPermitted(
                f"A worker may not close {task.ref} with --wont-fix.",
                hint="Ask your coordinator, or report the issue: session report blocked",
            )
        require_own_runs(tx, caller, task)
        return outcome.answer_with_stored(outcome.apply_move(tasks.cancel(task, reason=request.message, at=tx.at)))
    if task.status is TaskStatus.TODO and caller.role is not Role.WORKER:
        lease = StartTask(id=task.id).lease // 1000 if caller.is_session else None
        tasks.require_move(task, "start")
        if not tasks.is_ready(task):
            raise moves.not_ready_error(tx, task)
        task = outcome.apply_move(tasks.start(task, holder=caller.name, lease_seconds=lease, at=tx.at))
    return moves.complete_task(tx, caller, CompleteTask(id=task.id, summary=request.message))


def reopen_issue(tx: Tx, caller: Caller, request: ops.ReopenIssue) -> MovedTask:
    """Reopen an issue. The asking project may do so only if the asked project lets replies reopen issues."""
    issue, task = find_issue(tx, caller, request.id, project=request.project)
    speaking_project_id = find_project(tx, caller, request.project).id if request.project else None
    if party_of_caller(caller, issue, task, speaking_project_id=speaking_project_id) is IssueParty.OPENER:
        receiver = tx.projects.get(task.project_id)
        if caller.is_session and receiver is not None and not receiver.replies_reopen:
            raise errors.NotPermitted(
                f"{receiver.name} does not let other projects reopen its issues.",
                hint=f"Open a new issue: maestro issue open {receiver.name} --title … --message …",
            )
    else:
        require_own_project(caller, tx.projects.get(task.project_id))
    outcome = TaskConsequences(tx, caller)
    return outcome.answer_with_stored(outcome.apply_move(tasks.reopen(task, at=tx.at)))


def claim_thread_or_issue(tx: Tx, caller: Caller, request: mail_shapes.OneThread) -> mail_shapes.ThreadClaim:
    """Claim a thread. A claim of an issue's thread claims the issue."""
    thread_id = find_visible_message(tx, caller, request.id).thread_id
    issue_task = _issue_task_of_thread(tx, thread_id)
    if issue_task is None or is_closed(issue_task) or issue_task.holder == caller.name:
        return threads.claim_thread(tx, caller, request)
    moves.start_task(tx, caller, StartTask(id=issue_task.id))
    return mail_shapes.ThreadClaim(thread_id=thread_id, claimed_by=caller.name)


def release_thread_or_issue(tx: Tx, caller: Caller, request: mail_shapes.OneThread) -> mail_shapes.ThreadClaim:
    """Release a thread. A release of an issue's thread releases the issue."""
    thread_id = find_visible_message(tx, caller, request.id).thread_id
    issue_task = _issue_task_of_thread(tx, thread_id)
    if issue_task is None or issue_task.status is not TaskStatus.IN_PROGRESS:
        return threads.release_thread(tx, caller, request)
    moves.release_task(tx, caller, HeldTask(id=issue_task.id))
    return mail_shapes.ThreadClaim(thread_id=thread_id, claimed_by=None)


def _issue_task_of_thread(tx: Tx, thread_id: str) -> Task | None:
    issue = tx.issues.of_thread(thread_id)
    return tx.tasks.get(issue.task_id) if issue else None
