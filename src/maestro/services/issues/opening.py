"""Open an issue: create a task of the asked project and the first message of its thread, in a single transaction."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from maestro.domain.callers import Caller
from maestro.domain.documents import Content
from maestro.domain.events import Change, Kind
from maestro.domain.issues import Issue
from maestro.domain.messages import Type
from maestro.domain.projects import Project
from maestro.domain.tasks import Priority, Task
from maestro.operations.task_shapes import CreateTask
from maestro.services.issues import news
from maestro.services.mail.guard import Guard
from maestro.services.mail.post import Draft, Posted, Target, post, sender_of
from maestro.services.projects import access
from maestro.services.tasks import records as tasks
from maestro.store.base import Tx


class Opening(msgspec.Struct, frozen=True, kw_only=True):
    """An issue before storing. `receiver` is the asked project, `sender` the asking project."""

    receiver: Project
    sender: Project
    title: str
    text: str
    body: Content
    files: Sequence[tuple[str, Content]] = ()
    priority: Priority = Priority.NORMAL
    type: Type = Type.QUERY
    found_in: Task | None = None


class Opened(msgspec.Struct, frozen=True):
    """A stored issue with its first message."""

    task: Task
    draft: Draft
    posted: Posted


def begin(tx: Tx, caller: Caller, guard: Guard, opening: Opening) -> Opened:
    """Create an issue with a task, a first message, an issue row and an event.

    The task has no gates, because only the asked project sets gates.
    """
    receiver, sender = opening.receiver, opening.sender
    access.require(tx, caller, receiver, sender.id)
    guard.count(tx, caller, receiver.id, name=receiver.name)
    task = put_in(tx, caller, opening)
    draft = Draft(
        sender=sender_of(tx, caller),
        project_id=sender.id,
        to=[f"project:{receiver.name}"],
        targets=[Target(receiver.id, receiver.id, name=receiver.name)],
        type=opening.type,
        priority=opening.priority,
        subject=opening.title,
        body=opening.body,
        preview=opening.text,
        task_id=task.id,
        attachments=opening.files,
    )
    posted = post(tx, draft)
    tx.issues.insert(Issue(task.id, posted.thread_id, caller.name))
    news.log(tx, Kind.ISSUE_OPENED, task, actor=caller.name, message=posted.id)
    return Opened(task, draft, posted)


def put_in(tx: Tx, caller: Caller, opening: Opening) -> Task:
    """Create the task of an issue, without a thread."""
    receiver, found_in = opening.receiver, opening.found_in
    request = CreateTask(title=opening.title, description=opening.text, priority=opening.priority)
    task = tasks.new_task(tx, caller, request, receiver, None, found_in)
    task = msgspec.structs.replace(task, from_project_id=opening.sender.id)
    number = tx.tasks.insert(task)
    task = msgspec.structs.replace(task, number=number, ref=f"{receiver.name}#{number}")
    data = {"ref": task.ref, "title": task.title, "status": task.status.value, "issue_from": opening.sender.name}
    if found_in is not None:
        data["found_in"] = found_in.ref
    tx.log(
        Change(Kind.TASK_CREATED, task.id, receiver.id, data),
        Change(Kind.TASK_READY, task.id, receiver.id, {"ref": task.ref}),
        actor=caller.name,
    )
    return task
