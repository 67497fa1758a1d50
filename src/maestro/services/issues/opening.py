"""Open an issue: create a task of the asked project and the first message of its thread, in a single transaction."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from maestro.domain.callers import Caller
from maestro.domain.documents import StoredContent
from maestro.domain.events import EventKind, NewEvent
from maestro.domain.issues import Issue
from maestro.domain.messages import Message, MessageType
from maestro.domain.priorities import Priority
from maestro.domain.projects import Project
from maestro.domain.tasks import Task
from maestro.operations.task_shapes import CreateTask
from maestro.services.issues import task_moved
from maestro.services.mail.create import Draft, MailTarget, post_message, sender_of
from maestro.services.mail.rate_limit import MailLimiter
from maestro.services.projects import access
from maestro.services.tasks import editing as tasks
from maestro.store.base import Tx


class IssueDraft(msgspec.Struct, frozen=True, kw_only=True):
    """An issue before storing. `receiver` is the asked project, `sender` the asking project."""

    receiver: Project
    sender: Project
    title: str
    text: str
    body: StoredContent
    files: Sequence[tuple[str, StoredContent]] = ()
    priority: Priority = Priority.NORMAL
    type: MessageType = MessageType.QUERY
    found_in: Task | None = None


class StoredIssue(msgspec.Struct, frozen=True):
    """A stored issue with its first message."""

    task: Task
    draft: Draft
    message: Message


def open_issue(tx: Tx, caller: Caller, guard: MailLimiter, issue_draft: IssueDraft) -> StoredIssue:
    """Create an issue with a task, a first message, an issue row and an event.

    The task has no gates, because only the asked project sets gates.
    """
    receiver, sender = issue_draft.receiver, issue_draft.sender
    access.require_inbound(tx, caller, receiver, sender.id)
    guard.count_message(tx, caller, receiver.id, name=receiver.name)
    task = create_issue_task(tx, caller, issue_draft)
    draft = Draft(
        sender=sender_of(tx, caller),
        project_id=sender.id,
        to=[f"project:{receiver.name}"],
        targets=[MailTarget(receiver.id, receiver.id, name=receiver.name)],
        type=issue_draft.type,
        priority=issue_draft.priority,
        subject=issue_draft.title,
        body=issue_draft.body,
        preview=issue_draft.text,
        task_id=task.id,
        attachments=issue_draft.files,
    )
    posted = post_message(tx, draft)
    tx.issues.insert(Issue(task.id, posted.thread_id, caller.name))
    task_moved.log_issue_event(tx, EventKind.ISSUE_OPENED, task, actor=caller.name, message=posted.id)
    return StoredIssue(task, draft, posted)


def create_issue_task(tx: Tx, caller: Caller, issue_draft: IssueDraft) -> Task:
    """Create the task of an issue, without a thread."""
    receiver, found_in = issue_draft.receiver, issue_draft.found_in
    request = CreateTask(title=issue_draft.title, description=issue_draft.text, priority=issue_draft.priority)
    task = tasks.new_task(tx, caller, request, receiver, None, found_in)
    task = msgspec.structs.replace(task, from_project_id=issue_draft.sender.id)
    number = tx.tasks.insert(task)
    task = msgspec.structs.replace(task, number=number, ref=f"{receiver.name}#{number}")
    data = {"ref": task.ref, "title": task.title, "status": task.status.value, "issue_from": issue_draft.sender.name}
    if found_in is not None:
        data["found_in"] = found_in.ref
    tx.log(
        NewEvent(EventKind.TASK_CREATED, task.id, receiver.id, data),
        NewEvent(EventKind.TASK_READY, task.id, receiver.id, {"ref": task.ref}),
        actor=caller.name,
    )
    return task
