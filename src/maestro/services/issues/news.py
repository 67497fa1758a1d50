"""What follows for an issue's conversation when its task moves, by whatever command: both sides hear of it.

Called with the move, in its transaction; so the task is the truth, and the conversation cannot say otherwise.
"""

from __future__ import annotations

from maestro.core import limits
from maestro.domain.callers import THE_SERVER, Caller
from maestro.domain.events import Change, Kind
from maestro.domain.issues import Issue, Side, is_closed, side_of
from maestro.domain.messages import HUMAN, Sender, Type
from maestro.domain.tasks import Move, Status, Task
from maestro.domain.trackers import is_outside
from maestro.services.issues import sides
from maestro.services.mail import threads
from maestro.services.mail.post import Draft, of_the_server, post, sender_of, small
from maestro.store.base import Tx


def moved(tx: Tx, caller: Caller, move: Move, *, said: str = "") -> None:
    """Keep the conversation and its readers in step with the task. `said`: what goes with the move."""
    before, after = move.before, move.after
    issue = tx.issues.of_task(after.id)
    if issue is None:
        return
    if after.holder is not None and after.holder != before.holder:
        _claimed(tx, caller, issue, after)
    if before.holder is not None and after.holder is None:
        threads.let_go_of(tx, issue.thread_id, actor=caller.name)
    if is_closed(after) and not is_closed(before):
        _closed(tx, caller, issue, after, said)
    elif is_closed(before) and not is_closed(after):
        _reopened(tx, caller, issue, after)


def log(tx: Tx, kind: Kind, task: Task, *, actor: str, **data: object) -> None:
    """On the timelines of both projects."""
    names = {side: tx.projects.get(side) for side in (task.project_id, task.from_project_id) if side is not None}
    told = {side: project.name if project else side for side, project in names.items()}
    for project_id in told:
        facts = {
            "ref": task.ref,
            "title": task.title,
            "status": task.status.value,
            "issue_from": told.get(task.from_project_id or "", ""),
            **data,
        }
        tx.log(Change(kind, task.id, project_id, facts), actor=actor)


def _claimed(tx: Tx, caller: Caller, issue: Issue, task: Task) -> None:
    """Whoever has the task has the conversation too."""
    assert task.holder is not None
    threads.hand_to(tx, issue.thread_id, task.holder, project_id=task.project_id, actor=caller.name)
    log(tx, Kind.ISSUE_CLAIMED, task, actor=caller.name, holder=task.holder)


def _closed(tx: Tx, caller: Caller, issue: Issue, task: Task, said: str) -> None:
    """The conversation is over, and whoever began it hears how."""
    tx.issues.close_conversation(issue.thread_id, box=task.project_id)
    log(tx, Kind.ISSUE_CLOSED, task, actor=caller.name)
    done = "is done" if task.status is Status.COMPLETED else f"is closed as {task.status}"
    text = said or task.reason or f"{task.ref} {done}."
    _tell_opener(tx, caller, issue, task, subject=f"{task.ref} {done}: {task.title}", text=text)


def _reopened(tx: Tx, caller: Caller, issue: Issue, task: Task) -> None:
    log(tx, Kind.ISSUE_REOPENED, task, actor=caller.name)
    if side_of(task, caller.project_id) is not Side.OPENER:
        subject = f"{task.ref} is open again: {task.title}"
        _tell_opener(tx, caller, issue, task, subject=subject, text=f"{task.ref} is to be worked on again.")


def _tell_opener(tx: Tx, caller: Caller, issue: Issue, task: Task, *, subject: str, text: str) -> None:
    if is_outside(issue.opener):
        return  # it began in the project's tracker, and there it can be seen
    target = sides.opener(tx, issue, task)
    is_person = not caller.is_session and caller is not THE_SERVER and not is_outside(caller.name)
    if caller.name == issue.opener or (target.box == HUMAN and is_person):
        return  # whoever did it knows
    post(
        tx,
        Draft(
            sender=_sender(tx, caller),
            project_id=task.project_id,
            to=[target.name or target.box],
            targets=[target],
            type=Type.RESPONSE,
            priority=task.priority,
            subject=subject[: limits.subject_chars_max],
            body=small(text[: limits.inbox_body_chars_max]),
            task_id=task.id,
            thread_id=issue.thread_id,
        ),
    )


def _sender(tx: Tx, caller: Caller) -> Sender:
    return of_the_server() if caller is THE_SERVER else sender_of(tx, caller)
