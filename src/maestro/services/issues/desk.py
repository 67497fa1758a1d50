"""Opening issues and answering in them, as operations."""

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
    """Where issues come in."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard

    def open(
        self, tx: Tx, caller: Caller, request: ops.OpenIssue, enclosed: Enclosed | None = None
    ) -> ops.OpenedIssue:
        """A new issue in another project; the task that it holds up waits on it from the same moment."""
        receiver = project_of(tx, caller, request.to, here=request.project)
        sender = _sender(tx, caller, request.project, receiver)
        body = enclosed or Enclosed(small(request.message))
        opening = Opening(
            receiver=receiver,
            sender=sender,
            title=request.title.strip(),
            text=request.message[: limits.description_chars_max],
            body=body.body,
            files=body.files,
            priority=request.priority,
            found_in=_found_in(tx, caller, request, sender),
        )
        opened = begin(tx, caller, self._guard, opening)
        outcome = Outcome(tx, caller)
        for ref in dict.fromkeys(request.blocks):
            waiter = moves.current(tx, caller, ref, project=sender.id)
            may_move(tx, caller, waiter)
            dependencies.add(outcome, waiter, opened.task)
        return ops.OpenedIssue(
            **msgspec.structs.asdict(opened.task),
            from_project=sender.name,
            opener=caller.title or caller.name,
            thread_id=opened.posted.thread_id,
            message=receipts.just_sent(tx, opened.draft, opened.posted),
            warnings=outcome.warnings,
        )

    def check_open(self, tx: Tx, caller: Caller, request: ops.OpenIssue) -> None:
        """Refuse what `open` would refuse, as far as a look can tell: no file is stored for it then."""
        receiver = project_of(tx, caller, request.to, here=request.project)
        access.require(tx, caller, receiver, _sender(tx, caller, request.project, receiver).id)
        self._guard.check(tx, caller, receiver.id, name=receiver.name)

    def check_reply(self, tx: Tx, caller: Caller, request: ops.ReplyIssue) -> None:
        """Refuse what `reply` would refuse."""
        task = task_of(tx, caller, request.id, project=request.project)
        here = project_of(tx, caller, request.project).id if request.project else None
        check_comment(tx, caller, self._guard, issue_of(tx, task), task, here=here)

    def reply(
        self, tx: Tx, caller: Caller, request: ops.ReplyIssue, enclosed: Enclosed | None = None
    ) -> mail_shapes.SentMail:
        """A comment, for the other side."""
        issue, task = named(tx, caller, request.id, project=request.project)
        body = enclosed or Enclosed(small(request.message))
        said = Comment(
            text=request.message,
            body=body.body,
            files=body.files,
            type=request.type,
            priority=request.priority,
            parent=views.last_of_others(tx, caller, issue),
        )
        here = project_of(tx, caller, request.project).id if request.project else None
        return comment(tx, caller, self._guard, issue, task, said, here=here)


def is_simple(request: ops.OpenIssue) -> bool:
    """Whether no edge must be searched for."""
    return not request.blocks


def _sender(tx: Tx, caller: Caller, project: str, receiver: Project) -> Project:
    """The project that an issue comes from; the person may open one by hand from anywhere."""
    if not caller.is_session and not project:
        return receiver
    sender = project_of(tx, caller, "" if caller.is_session else project)
    if caller.is_session and sender.id == receiver.id:
        raise errors.Invalid(
            f"{receiver.name} is your own project: an issue is for another one.",
            hint='Make a task: maestro task create "…" --found-in ID',
        )
    return sender


def _found_in(tx: Tx, caller: Caller, request: ops.OpenIssue, sender: Project) -> Task | None:
    """The task that led to it: the one named, else the only one that the caller holds."""
    if request.found_in:
        return task_of(tx, caller, request.found_in, project=sender.id)
    held = tx.tasks.of_holder(caller.name, limit=2) if caller.is_session else []
    return held[0] if len(held) == 1 else None
