"""The operations `issue open` and `issue reply`."""

from __future__ import annotations

import msgspec

from maestro.core import errors, limits
from maestro.domain.callers import Caller
from maestro.domain.projects import Project
from maestro.domain.tasks import Task
from maestro.operations import issues as ops
from maestro.operations import mail_shapes
from maestro.services.access.scope import find_project, find_task, require_movable_task
from maestro.services.issues import views
from maestro.services.issues.comments import NewComment, check_comment, post_comment
from maestro.services.issues.moves import find_issue, issue_of_task
from maestro.services.issues.opening import IssueDraft, open_issue
from maestro.services.mail import receipts
from maestro.services.mail.contents import EnclosedContents
from maestro.services.mail.create import inline_body
from maestro.services.mail.rate_limit import MailLimiter
from maestro.services.projects import access
from maestro.services.tasks import dependencies, moves
from maestro.services.tasks.consequences import TaskConsequences
from maestro.store.base import Tx


class IssueOperations:
    """Opens issues and replies to issues."""

    def __init__(self, guard: MailLimiter) -> None:
        self._guard = guard

    def open_issue(
        self, tx: Tx, caller: Caller, request: ops.OpenIssue, enclosed: EnclosedContents | None = None
    ) -> ops.OpenedIssue:
        """Open an issue in another project, and make the tasks of `blocks` depend on the issue at once."""
        receiver = find_project(tx, caller, request.to, project_at_hand=request.project)
        sender = _asking_project(tx, caller, request.project, receiver)
        contents = enclosed or EnclosedContents(inline_body(request.message))
        issue_draft = IssueDraft(
            receiver=receiver,
            sender=sender,
            title=request.title.strip(),
            text=request.message[: limits.description_chars_max],
            body=contents.body,
            files=contents.files,
            priority=request.priority,
            found_in=_origin_task(tx, caller, request, sender),
        )
        stored_issue = open_issue(tx, caller, self._guard, issue_draft)
        outcome = TaskConsequences(tx, caller)
        for ref in dict.fromkeys(request.blocks):
            blocked_task = moves.current_task(tx, caller, ref, project=sender.id)
            require_movable_task(tx, caller, blocked_task)
            dependencies.add_dependency(outcome, blocked_task, stored_issue.task)
        return ops.OpenedIssue(
            **msgspec.structs.asdict(stored_issue.task),
            from_project=sender.name,
            opener=caller.title or caller.name,
            thread_id=stored_issue.message.thread_id,
            message=receipts.new_message_answer(tx, stored_issue.draft, stored_issue.message),
            warnings=outcome.warnings,
        )

    def check_open(self, tx: Tx, caller: Caller, request: ops.OpenIssue) -> None:
        """Refuse an issue that cannot be opened, as far as a read can show, before any file is stored."""
        receiver = find_project(tx, caller, request.to, project_at_hand=request.project)
        access.require_inbound(tx, caller, receiver, _asking_project(tx, caller, request.project, receiver).id)
        self._guard.check_message(tx, caller, receiver.id, name=receiver.name)

    def check_reply(self, tx: Tx, caller: Caller, request: ops.ReplyIssue) -> None:
        """Refuse a reply that cannot be posted, as far as a read can show, before any file is stored."""
        task = find_task(tx, caller, request.id, project=request.project)
        speaking_project_id = find_project(tx, caller, request.project).id if request.project else None
        check_comment(tx, caller, self._guard, issue_of_task(tx, task), task, speaking_project_id=speaking_project_id)

    def reply_to_issue(
        self, tx: Tx, caller: Caller, request: ops.ReplyIssue, enclosed: EnclosedContents | None = None
    ) -> mail_shapes.SentMail:
        """Post a comment for the other party of an issue."""
        issue, task = find_issue(tx, caller, request.id, project=request.project)
        contents = enclosed or EnclosedContents(inline_body(request.message))
        new_comment = NewComment(
            text=request.message,
            body=contents.body,
            files=contents.files,
            type=request.type,
            priority=request.priority,
            parent=views.last_message_of_others(tx, caller, issue),
        )
        speaking_project_id = find_project(tx, caller, request.project).id if request.project else None
        return post_comment(
            tx, caller, self._guard, issue, task, new_comment, speaking_project_id=speaking_project_id
        )


def needs_no_cycle_check(request: ops.OpenIssue) -> bool:
    """Return whether the request adds no dependency, and so needs no search for cycles."""
    return not request.blocks


def _asking_project(tx: Tx, caller: Caller, project: str, receiver: Project) -> Project:
    """Return the project that opens an issue. The person may open an issue without naming a project."""
    if not caller.is_session and not project:
        return receiver
    sender = find_project(tx, caller, "" if caller.is_session else project)
    if caller.is_session and sender.id == receiver.id:
        raise errors.Invalid(
            f"{receiver.name} is your own project: an issue is a request to another project.",
            hint='Create a task instead: maestro task create "…" --found-in ID',
        )
    return sender


def _origin_task(tx: Tx, caller: Caller, request: ops.OpenIssue, sender: Project) -> Task | None:
    """Return the task in which the problem was found: the named task, else the only task that the caller holds."""
    if request.found_in:
        return find_task(tx, caller, request.found_in, project=sender.id)
    held = tx.tasks.of_holder(caller.name, limit=2) if caller.is_session else []
    return held[0] if len(held) == 1 else None
