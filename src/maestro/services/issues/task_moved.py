"""Keep an issue's thread in step with its task, and inform both parties when the task moves.

Every move of an issue's task calls this module in the transaction of the move, so task and thread always agree.
"""

from __future__ import annotations

from maestro.core import limits
from maestro.domain.callers import SERVER_CALLER, Caller
from maestro.domain.events import EventKind, NewEvent
from maestro.domain.issues import Issue, IssueParty, is_closed, party_of
from maestro.domain.messages import HUMAN_MAILBOX, MessageType, Sender
from maestro.domain.tasks import Task, TaskMove, TaskStatus
from maestro.domain.trackers import is_tracker_person
from maestro.services.issues import recipients
from maestro.services.mail import threads
from maestro.services.mail.create import Draft, inline_body, post_message, sender_of, server_sender
from maestro.store.base import Tx


def apply_task_move(tx: Tx, caller: Caller, move: TaskMove, message: str) -> None:
    """Update the issue's thread and inform its opener after a move. `message` is the text given with the move."""
    before, after = move.before, move.after
    issue = tx.issues.of_task(after.id)
    if issue is None:
        return
    if after.holder is not None and after.holder != before.holder:
        _hand_thread_to_holder(tx, caller, issue, after)
    if before.holder is not None and after.holder is None:
        threads.free_thread(tx, issue.thread_id, actor=caller.name)
    if is_closed(after) and not is_closed(before):
        _close_thread(tx, caller, issue, after, message)
    elif is_closed(before) and not is_closed(after):
        _report_reopening(tx, caller, issue, after)


def log_issue_event(tx: Tx, kind: EventKind, task: Task, *, actor: str, **data: object) -> None:
    """Log an issue's event in both projects, so that the timelines of both show the event."""
    projects = {
        party: tx.projects.get(party) for party in (task.project_id, task.from_project_id) if party is not None
    }
    project_names = {party: project.name if project else party for party, project in projects.items()}
    for project_id in project_names:
        event_data = {
            "ref": task.ref,
            "title": task.title,
            "status": task.status.value,
            "issue_from": project_names.get(task.from_project_id or "", ""),
            **data,
        }
        tx.log(NewEvent(kind, task.id, project_id, event_data), actor=actor)


def _hand_thread_to_holder(tx: Tx, caller: Caller, issue: Issue, task: Task) -> None:
    """Give the issue's thread to the holder of the task."""
    assert task.holder is not None
    threads.hand_thread_to(tx, issue.thread_id, task.holder, project_id=task.project_id, actor=caller.name)
    log_issue_event(tx, EventKind.ISSUE_CLAIMED, task, actor=caller.name, holder=task.holder)


def _close_thread(tx: Tx, caller: Caller, issue: Issue, task: Task, message: str) -> None:
    """Close the issue's thread, and inform the opener about the result."""
    tx.issues.close_thread(issue.thread_id, mailbox=task.project_id)
    log_issue_event(tx, EventKind.ISSUE_CLOSED, task, actor=caller.name)
    result = "is done" if task.status is TaskStatus.COMPLETED else f"is closed as {task.status}"
    text = message or task.reason or f"{task.ref} {result}."
    _inform_opener(tx, caller, issue, task, subject=f"{task.ref} {result}: {task.title}", text=text)


def _report_reopening(tx: Tx, caller: Caller, issue: Issue, task: Task) -> None:
    log_issue_event(tx, EventKind.ISSUE_REOPENED, task, actor=caller.name)
    if party_of(task, caller.project_id) is not IssueParty.OPENER:
        subject = f"{task.ref} is open again: {task.title}"
        _inform_opener(
            tx, caller, issue, task, subject=subject, text=f"{task.ref} was reopened and will be worked on again."
        )


def _inform_opener(tx: Tx, caller: Caller, issue: Issue, task: Task, *, subject: str, text: str) -> None:
    if is_tracker_person(issue.opener):
        return  # the opener uses the project's tracker, and sees the move in the tracker
    target = recipients.opener_target(tx, issue, task)
    is_person = not caller.is_session and caller is not SERVER_CALLER and not is_tracker_person(caller.name)
    if caller.name == issue.opener or (target.mailbox == HUMAN_MAILBOX and is_person):
        return  # the opener made the move, and knows about the move
    post_message(
        tx,
        Draft(
            sender=_message_sender(tx, caller),
            project_id=task.project_id,
            to=[target.name or target.mailbox],
            targets=[target],
            type=MessageType.RESPONSE,
            priority=task.priority,
            subject=subject[: limits.subject_chars_max],
            body=inline_body(text[: limits.inbox_body_chars_max]),
            task_id=task.id,
            thread_id=issue.thread_id,
        ),
    )


def _message_sender(tx: Tx, caller: Caller) -> Sender:
    return server_sender() if caller is SERVER_CALLER else sender_of(tx, caller)
