"""A merge that met a conflict goes back to its author: as a task that says what clashes, and how to hand it in."""

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
    """The task that mends a conflict; the one there is, if it is still open.

    `of`: the task in a run whose work it was. That one waits for it as a parent does, and so does all that depends
    on it. Without one it is a task of its own.
    """
    there = tx.tasks.get(found.conflict_task_id) if found.conflict_task_id else None
    if there is not None and there.status not in FINAL:
        return there
    about = of or next((task for task_id in session.tasks if (task := tx.tasks.get(task_id))), None)
    made = task_service.create(
        tx,
        THE_SERVER,
        task_shapes.CreateTask(
            project=found.project_id,
            title=f"Merge {found.branch} into {clash.into}"[: limits.title_chars_max],
            description=described(session, found, clash, in_run=of is not None),
            parent=of.id if of else None,
            found_in=about.id if about else None,
            member=session.member or (about.member if about else None),
            accept=[f"Both {found.branch} and {clash.into} are in it, and nothing of either is lost."],
            gates=[*_contained(clash), *(of.gates if of else [])][: limits.task_list_items_max],
            priority=Priority.HIGH,
        ),
    )
    tx.worktrees.conflicts(session.id, task_id=made.id)
    _tell(tx, session, found, clash, made)
    return tx.tasks.get(made.id) or made


def merged(tx: Tx, session: Session, found: Worktree, into: str) -> None:
    """It came in after all: whatever was to mend it has nothing left to do.

    With what mends another comes that other.
    """
    for other in filter(None, (tx.worktrees.mended_by(task_id) for task_id in session.tasks)):
        if other.merges_into == into:
            tx.worktrees.merged(other.session_id, into=into, at=tx.at)
    task = tx.tasks.get(found.conflict_task_id) if found.conflict_task_id else None
    if task is not None and task.status is Status.TODO:
        moves.cancel(tx, THE_SERVER, task_shapes.ReasonedTask(id=task.id, reason=f"{found.branch} is merged."))


def described(session: Session, found: Worktree, clash: Conflicted, *, in_run: bool) -> str:
    """All that is needed to mend it: where, what, with which commands, and the places that clash."""
    other = found.branch if in_run else clash.into
    where = f"in your own worktree, which begins at {clash.into}" if in_run else f"in {found.path}"
    then = (
        "Then report this task complete: it is merged by itself."
        if in_run
        else f"Then:\n\n    maestro worktree merge {session.name} --into {clash.into}\n"
    )
    many = f"{clash.files_total} file{'s' if clash.files_total != 1 else ''}"
    head = (
        f"The work of {session.name} on {found.branch} ({clash.branch_commit[:12]}) cannot be merged into "
        f"{clash.into} ({clash.into_commit[:12]}): {many} clash.\n\n"
        f"Mend it {where}:\n\n"
        f"    git merge {other}\n"
        "    # mend the files below, keeping what both sides meant; then\n"
        "    git add -A\n"
        "    git commit --no-edit\n\n"
        f"{then}\nIt counts only if both commits are in it.\n\n"
        "In what follows <<<<<<< is the integration branch, ||||||| what both began from, >>>>>>> the branch.\n"
    )
    files = "".join(f"\n{one.path}: {one.kind}\n{one.text}" for one in clash.details)
    unseen = clash.files_total - len(clash.details)
    rest = f"\n… and {unseen} more: git merge shows them.\n" if unseen > 0 else ""
    return (head + files)[: limits.conflict_chars_max] + rest


def _contained(clash: Conflicted) -> list[str]:
    return [f"git merge-base --is-ancestor {commit} HEAD" for commit in (clash.branch_commit, clash.into_commit)]


def _tell(tx: Tx, session: Session, found: Worktree, clash: Conflicted, task: Task) -> None:
    """Its author, if that one is still there; else whoever it worked for."""
    subject = f"{task.ref}: {found.branch} conflicts with {clash.into}"
    if session.ended_at is None:
        notices.to_session(tx, session, subject=subject, text=task.description, priority=Priority.HIGH)
        return
    files = ", ".join(clash.files[: limits.names_in_message_max])
    notices.to_coordinator(
        tx, session, subject=subject, text=f"{task.ref} is to mend it: {files}.", task_id=task.id, person_too=True
    )
