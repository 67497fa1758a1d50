"""Turn a merge conflict into a task for its author. The task names the conflicting files and the commands to use."""

from __future__ import annotations

from maestro.core import limits
from maestro.domain.callers import THE_SERVER
from maestro.domain.sessions import Session
from maestro.domain.spawns import Worktree
from maestro.domain.tasks import FINAL, Priority, Status, Task
from maestro.git.worktrees import Conflicted
from maestro.operations import task_shapes
from maestro.services.sessions import notices
from maestro.services.tasks import moves
from maestro.services.tasks import records as task_service
from maestro.store.base import Tx


def go_back(tx: Tx, session: Session, found: Worktree, clash: Conflicted, *, of: Task | None = None) -> Task:
    """Create the task that resolves a conflict, or return the existing task while it is open.

    `of` is the task of a run whose work conflicts. It becomes the parent of the new task, so that it and its
    dependants wait for the new task.
    """
    existing = tx.tasks.get(found.conflict_task_id) if found.conflict_task_id else None
    if existing is not None and existing.status not in FINAL:
        return existing
    origin = of or next((task for task_id in session.tasks if (task := tx.tasks.get(task_id))), None)
    created = task_service.create(
        tx,
        THE_SERVER,
        task_shapes.CreateTask(
            project=found.project_id,
            title=f"Merge {found.branch} into {clash.into}"[: limits.title_chars_max],
            description=described(session, found, clash, in_run=of is not None),
            parent=of.id if of else None,
            found_in=origin.id if origin else None,
            member=session.member or (origin.member if origin else None),
            accept=[f"The merge contains {found.branch} and {clash.into}, and no change of either branch is lost."],
            gates=[*_ancestor_gates(clash), *(of.gates if of else [])][: limits.task_list_items_max],
            priority=Priority.HIGH,
        ),
    )
    tx.worktrees.conflicts(session.id, task_id=created.id)
    _notify_author(tx, session, found, clash, created)
    return tx.tasks.get(created.id) or created


def merged(tx: Tx, session: Session, found: Worktree, into: str) -> None:
    """Record the consequences of a successful merge.

    An open task that should resolve a conflict of this branch is cancelled. If the session has resolved the conflict
    of another branch, that branch counts as merged too.
    """
    for other in filter(None, (tx.worktrees.mended_by(task_id) for task_id in session.tasks)):
        if other.merges_into == into:
            tx.worktrees.merged(other.session_id, into=into, at=tx.at)
    task = tx.tasks.get(found.conflict_task_id) if found.conflict_task_id else None
    if task is not None and task.status is Status.TODO:
        moves.cancel(tx, THE_SERVER, task_shapes.ReasonedTask(id=task.id, reason=f"{found.branch} is merged."))


def described(session: Session, found: Worktree, clash: Conflicted, *, in_run: bool) -> str:
    """Describe how to resolve a conflict: the directory, the commands, and the conflicting parts of the files."""
    other_branch = found.branch if in_run else clash.into
    location = f"in your own worktree, which begins at {clash.into}" if in_run else f"in {found.path}"
    last_step = (
        "Then report this task complete. Maestro merges your branch."
        if in_run
        else f"Then:\n\n    maestro worktree merge {session.name} --into {clash.into}\n"
    )
    count = f"{clash.files_total} file{'s' if clash.files_total != 1 else ''}"
    head = (
        f"The work of {session.name} on {found.branch} ({clash.branch_commit[:12]}) cannot be merged into "
        f"{clash.into} ({clash.into_commit[:12]}): conflicts in {count}.\n\n"
        f"Resolve the conflicts {location}:\n\n"
        f"    git merge {other_branch}\n"
        "    # edit the files below and keep the changes of both branches; then\n"
        "    git add -A\n"
        "    git commit --no-edit\n\n"
        f"{last_step}\nThe merge counts only if it contains both commits.\n\n"
        "In the files below, <<<<<<< marks the integration branch, ||||||| the common ancestor, >>>>>>> the branch.\n"
    )
    files = "".join(f"\n{file.path}: {file.kind}\n{file.text}" for file in clash.details)
    hidden_count = clash.files_total - len(clash.details)
    rest = f"\n… and {hidden_count} more files: git merge shows them.\n" if hidden_count > 0 else ""
    return (head + files)[: limits.conflict_chars_max] + rest


def _ancestor_gates(conflict: Conflicted) -> list[str]:
    """Return gates which prove that the merge contains both commits."""
    commits = (conflict.branch_commit, conflict.into_commit)
    return [f"git merge-base --is-ancestor {commit} HEAD" for commit in commits]


def _notify_author(tx: Tx, session: Session, worktree: Worktree, conflict: Conflicted, task: Task) -> None:
    """Notify the author of the branch, or its coordinator and the person if the author has ended."""
    subject = f"{task.ref}: {worktree.branch} conflicts with {conflict.into}"
    if session.ended_at is None:
        notices.to_session(tx, session, subject=subject, text=task.description, priority=Priority.HIGH)
        return
    files = ", ".join(conflict.files[: limits.names_in_message_max])
    text = f"{task.ref} has to resolve the conflict in {files}."
    notices.to_coordinator(tx, session, subject=subject, text=text, task_id=task.id, person_too=True)
