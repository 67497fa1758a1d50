"""The operations `issue open` and `issue reply`."""

from __future__ import annotations

import msgspec

from maestro.core import errors, limits
from maestro.domain.callers import Caller
from maestro.domain.projects import Project
from maestro.domain.tasks import Task
from maestro.operations import issues as ops
from maestro.operations import mail_shapes
from maestro.services.issues import views
from maestro.services.issues.conversation import Comment, check_comment, comment
from maestro.services.issues.moves import issue_of, named
from maestro.services.issues.opening import Opening, begin
from maestro.services.mail import receipts
from maestro.services.mail.guard import Guard
from maestro.services.mail.post import small
from maestro.services.mail.sending import Enclosed
from maestro.services.projects import access
from maestro.services.scope import may_move, project_of, task_of
from maestro.services.tasks import dependencies, moves
from maestro.services.tasks.consequences import Outcome
from maestro.store.base import Tx


class Desk:
    """Opens issues and replies to issues."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard

    def open(
        self, tx: Tx, caller: Caller, request: ops.OpenIssue, enclosed: Enclosed | None = None
    ) -> ops.OpenedIssue:
        """Open an issue in another project, and make the tasks of `blocks` depend on the issue at once."""
        receiver = project_of(tx, caller, request.to, here=request.project)
        sender = _asking_project(tx, caller, request.project, receiver)
        contents = enclosed or Enclosed(small(request.message))
        issue_draft = Opening(
            receiver=receiver,
            sender=sender,
            title=request.title.strip(),
            text=request.message[: limits.description_chars_max],
            body=contents.body,
            files=contents.files,
            priority=request.priority,
            found_in=_origin_task(tx, caller, request, sender),
        )
        stored_issue = begin(tx, caller, self._guard, issue_draft)
        outcome = Outcome(tx, caller)
        for ref in dict.fromkeys(request.blocks):
            blocked_task = moves.current(tx, caller, ref, project=sender.id)
            may_move(tx, caller, blocked_task)
            dependencies.add(outcome, blocked_task, stored_issue.task)
        return ops.OpenedIssue(
            **msgspec.structs.asdict(stored_issue.task),
            from_project=sender.name,
            opener=caller.title or caller.name,
            thread_id=stored_issue.posted.thread_id,
            message=receipts.just_sent(tx, stored_issue.draft, stored_issue.posted),
            warnings=outcome.warnings,
        )

    def check_open(self, tx: Tx, caller: Caller, request: ops.OpenIssue) -> None:
        """Refuse an issue that cannot be opened, as far as a read can show, before any file is stored."""
        receiver = project_of(tx, caller, request.to, here=request.project)
        access.require(tx, caller, receiver, _asking_project(tx, caller, request.project, receiver).id)
        self._guard.check(tx, caller, receiver.id, name=receiver.name)

    def check_reply(self, tx: Tx, caller: Caller, request: ops.ReplyIssue) -> None:
        """Refuse a reply that cannot be posted, as far as a read can show, before any file is stored."""
        task = task_of(tx, caller, request.id, project=request.project)
        speaking_project_id = project_of(tx, caller, request.project).id if request.project else None
        check_comment(tx, caller, self._guard, issue_of(tx, task), task, here=speaking_project_id)

    def reply(
        self, tx: Tx, caller: Caller, request: ops.ReplyIssue, enclosed: Enclosed | None = None
    ) -> mail_shapes.SentMail:
        """Post a comment for the other party of an issue."""
        issue, task = named(tx, caller, request.id, project=request.project)
        contents = enclosed or Enclosed(small(request.message))
        new_comment = Comment(
            text=request.message,
            body=contents.body,
            files=contents.files,
            type=request.type,
            priority=request.priority,
            parent=views.last_of_others(tx, caller, issue),
        )
        speaking_project_id = project_of(tx, caller, request.project).id if request.project else None
        return comment(tx, caller, self._guard, issue, task, new_comment, here=speaking_project_id)


def is_simple(request: ops.OpenIssue) -> bool:
    """Return whether the request adds no dependency, and so needs no search for cycles."""
    return not request.blocks


def _asking_project(tx: Tx, caller: Caller, project: str, receiver: Project) -> Project:
    """Return the project that opens an issue. The person may open an issue without naming a project."""
    if not caller.is_session and not project:
        return receiver
    sender = project_of(tx, caller, "" if caller.is_session else project)
    if caller.is_session and sender.id == receiver.id:
        raise errors.Invalid(
            f"{receiver.name} is your own project: an issue is a request to another project.",
            hint='Create a task instead: maestro task create "…" --found-in ID',
        )
    return sender


def _origin_task(tx: Tx, caller: Caller, request: ops.OpenIssue, sender: Project) -> Task | None:
    """Return the task in which the problem was found: the named task, else the only task that the caller holds."""
    if request.found_in:
        return task_of(tx, caller, request.found_in, project=sender.id)
    held = tx.tasks.of_holder(caller.name, limit=2) if caller.is_session else []
    return held[0] if len(held) == 1 else None
