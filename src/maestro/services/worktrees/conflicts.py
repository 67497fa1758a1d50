"""Turn a merge conflict into a task for its author. The task names the conflicting files and the commands to use."""

from __future__ import annotations

from maestro.core import limits
from maestro.domain.callers import SERVER_CALLER
from maestro.domain.priorities import Priority
from maestro.domain.sessions import Session
from maestro.domain.spawns import SessionWorktree
from maestro.domain.tasks import FINAL_STATUSES, Task, TaskStatus
from maestro.git.worktrees import MergeConflict
from maestro.operations import task_shapes
from maestro.services.sessions import notices
from maestro.services.tasks import editing as task_service
from maestro.services.tasks import moves
from maestro.store.base import Tx


def open_conflict_task(
    tx: Tx, session: Session, worktree: SessionWorktree, conflict: MergeConflict, *, run_task: Task | None = None
) -> Task:
    """Create the task that resolves a conflict, or return the existing task while it is open.

    `run_task` is the task of a run whose work conflicts. It becomes the parent of the new task, so that it and its
    dependants wait for the new task.
    """
    existing = tx.tasks.get(worktree.conflict_task_id) if worktree.conflict_task_id else None
    if existing is not None and existing.status not in FINAL_STATUSES:
        return existing
    origin = run_task or next((task for task_id in session.tasks if (task := tx.tasks.get(task_id))), None)
    created = task_service.create_task(
        tx,
        SERVER_CALLER,
        task_shapes.CreateTask(
            project=worktree.project_id,
            title=f"Merge {worktree.branch} into {conflict.into}"[: limits.title_chars_max],
            description=describe_conflict(session, worktree, conflict, in_run=run_task is not None),
            parent=run_task.id if run_task else None,
            found_in=origin.id if origin else None,
            member=session.member or (origin.member if origin else None),
            accept=[
                f"The merge contains {worktree.branch} and {conflict.into}, and no change of either branch is lost."
            ],
            gates=[*_ancestor_gates(conflict), *(run_task.gates if run_task else [])][: limits.task_list_items_max],
            priority=Priority.HIGH,
        ),
    )
    tx.worktrees.set_conflict_task(session.id, task_id=created.id)
    _notify_author(tx, session, worktree, conflict, created)
    return tx.tasks.get(created.id) or created


def settle_merge(tx: Tx, session: Session, worktree: SessionWorktree, into: str) -> None:
    """Record the consequences of a successful merge.

    A task for a conflict of this branch is cancelled if no session has started the task. If the session has resolved
    the conflict of another branch, that branch counts as merged too.
    """
    for other in filter(None, (tx.worktrees.of_conflict_task(task_id) for task_id in session.tasks)):
        if other.merges_into == into:
            tx.worktrees.mark_merged(other.session_id, into=into, at=tx.at)
    task = tx.tasks.get(worktree.conflict_task_id) if worktree.conflict_task_id else None
    if task is not None and task.status is TaskStatus.TODO:
        moves.cancel_task(
            tx, SERVER_CALLER, task_shapes.ReasonedTask(id=task.id, reason=f"{worktree.branch} is merged.")
        )


def describe_conflict(session: Session, worktree: SessionWorktree, conflict: MergeConflict, *, in_run: bool) -> str:
    """Describe how to resolve a conflict: the directory, the commands, and the conflicting parts of the files."""
    other_branch = worktree.branch if in_run else conflict.into
    location = f"in your own worktree, which begins at {conflict.into}" if in_run else f"in {worktree.path}"
    last_step = (
        "Then report this task complete. Maestro merges your branch."
        if in_run
        else f"Then:\n\n    maestro worktree merge {session.name} --into {conflict.into}\n"
    )
    count = f"{conflict.files_total} file{'s' if conflict.files_total != 1 else ''}"
    head = (
        f"The work of {session.name} on {worktree.branch} ({conflict.branch_commit[:12]}) cannot be merged into "
        f"{conflict.into} ({conflict.into_commit[:12]}): conflicts in {count}.\n\n"
        f"Resolve the conflicts {location}:\n\n"
        f"    git merge {other_branch}\n"
        "    # edit the files below and keep the changes of both branches; then\n"
        "    git add -A\n"
        "    git commit --no-edit\n\n"
        f"{last_step}\nThe merge counts only if it contains both commits.\n\n"
        "In the files below, <<<<<<< marks the integration branch, ||||||| the common ancestor, >>>>>>> the branch.\n"
    )
    files = "".join(f"\n{file.path}: {file.kind}\n{file.text}" for file in conflict.details)
    hidden_count = conflict.files_total - len(conflict.details)
    rest = f"\n… and {hidden_count} more files: git merge shows them.\n" if hidden_count > 0 else ""
    return (head + files)[: limits.conflict_chars_max] + rest


def _ancestor_gates(conflict: MergeConflict) -> list[str]:
    """Return gates which prove that the merge contains both commits."""
    commits = (conflict.branch_commit, conflict.into_commit)
    return [f"git merge-base --is-ancestor {commit} HEAD" for commit in commits]


def _notify_author(tx: Tx, session: Session, worktree: SessionWorktree, conflict: MergeConflict, task: Task) -> None:
    """Notify the author of the branch, or its coordinator and the person if the author has ended."""
    subject = f"{task.ref}: {worktree.branch} conflicts with {conflict.into}"
    if session.ended_at is None:
        notices.notify_session(tx, session, subject=subject, text=task.description, priority=Priority.HIGH)
        return
    files = ", ".join(conflict.files[: limits.names_in_message_max])
    text = f"{task.ref} has to resolve the conflict in {files}."
    notices.notify_coordinator(tx, session, subject=subject, text=text, task_id=task.id, is_for_person=True)
