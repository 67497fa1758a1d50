"""Comments on issues. A comment is a message with receipts from a party of the issue to the other party.

A comment of the asking project on a closed issue reopens the issue, if the asked project allows reopening.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from maestro.core import errors, limits
from maestro.domain import tasks
from maestro.domain.callers import Caller
from maestro.domain.documents import Content
from maestro.domain.events import Kind
from maestro.domain.issues import Issue, Side, is_closed, side_of
from maestro.domain.messages import HUMAN, Message, Step, Type, reply_subject
from maestro.domain.tasks import Priority, Task
from maestro.domain.trackers import is_outside
from maestro.operations import mail_shapes as ops
from maestro.services.issues import news, sides
from maestro.services.mail import receipts, threads
from maestro.services.mail.guard import Guard
from maestro.services.mail.post import Draft, Target, own_boxes, post, sender_of
from maestro.services.tasks.consequences import Outcome
from maestro.store.base import Tx


class Comment(msgspec.Struct, frozen=True, kw_only=True):
    """A comment before posting."""

    text: str
    body: Content
    files: Sequence[tuple[str, Content]] = ()
    type: Type = Type.RESPONSE
    subject: str | None = None
    priority: Priority | None = None
    parent: Message | None = None  # the answered message; None: the last message of the thread


def comment(
    tx: Tx, caller: Caller, guard: Guard, issue: Issue, task: Task, said: Comment, *, here: str | None = None
) -> ops.SentMail:
    """Post a comment in an issue's thread. The person speaks for the project `speaking_project_id`."""
    party = speaks_for(caller, issue, task, here=here)
    parent = said.parent or tx.mail.last_of_thread(issue.thread_id)
    hops = guard.hop(caller, parent, at=tx.at) if parent else 0
    if is_closed(task) and party is Side.OPENER:
        task = _reopen_for_comment(tx, caller, task)
    targets = _comment_targets(tx, caller, issue, task)
    for target in targets:
        guard.count(tx, caller, target.box, name=target.name)
    draft = Draft(
        sender=sender_of(tx, caller),
        project_id=caller.project_id or (task.from_project_id if party is Side.OPENER else task.project_id),
        to=[target.name or target.box for target in targets],
        targets=targets,
        type=said.type,
        priority=said.priority or task.priority,
        subject=(said.subject or reply_subject(task.title))[: limits.subject_chars_max],
        body=said.body,
        preview=said.text[: limits.inbox_body_chars_max],
        task_id=task.id,
        parent=parent,
        thread_id=issue.thread_id,
        hops=hops,
        attachments=said.files,
    )
    posted = post(tx, draft)
    news.log(tx, Kind.ISSUE_COMMENTED, task, actor=caller.name, message=posted.id)
    if parent is not None:
        for mailbox in own_boxes(caller):
            receipts.take(tx, caller, Step.ACKNOWLEDGED, mailbox, parent.seq, via="reply")
    if party is Side.RECEIVER and caller.is_session:
        threads.claim_for(tx, caller, issue.thread_id, quietly=True)  # the holder of the thread gets the answer
    return msgspec.structs.replace(receipts.just_sent(tx, draft, posted), issue=task.ref)


def check_comment(tx: Tx, caller: Caller, guard: Guard, issue: Issue, task: Task, *, here: str | None = None) -> None:
    """Refuse a comment that cannot be posted, as far as a read can show, without changing anything."""
    party = speaks_for(caller, issue, task, here=here)
    if is_closed(task) and party is Side.OPENER:
        _require_reopening_by_reply(tx, task)
    for target in _comment_targets(tx, caller, issue, task):
        guard.check(tx, caller, target.box, name=target.name)


def speaks_for(caller: Caller, issue: Issue, task: Task, *, here: str | None) -> Side:
    """Return the caller's party: a session speaks for its own project, the person for `speaking_project_id`."""
    if caller.is_session:
        party = side_of(task, caller.project_id)
        if party is None:
            raise errors.NotPermitted(
                f"Only agents of the two projects of issue {task.ref} may comment on the issue.",
                hint="Open your own issue: maestro issue open PROJECT …",
                data={"ref": task.ref},
            )
        return party
    if side_of(task, here) is Side.OPENER or (issue.opener == caller.name and task.holder != caller.name):
        return Side.OPENER
    return Side.RECEIVER


def _reopen_for_comment(tx: Tx, caller: Caller, task: Task) -> Task:
    _require_reopening_by_reply(tx, task)
    return Outcome(tx, caller).apply(tasks.reopen(task, at=tx.at))


def _require_reopening_by_reply(tx: Tx, task: Task) -> None:
    receiver = tx.projects.get(task.project_id)
    if receiver is not None and not receiver.replies_reopen:
        raise errors.Conflict(
            f"{task.ref} is closed ({task.status}), and {receiver.name} does not reopen issues for a reply.",
            hint=f"Open a new issue: maestro issue open {receiver.name} --title … --message …",
            data={"ref": task.ref, "status": task.status.value},
        )


def _comment_targets(tx: Tx, caller: Caller, issue: Issue, task: Task) -> list[Target]:
    """Return the mailboxes of both parties, without the caller's own mailbox and its project's mailbox."""
    target_by_mailbox = {target.box: target for target in (sides.opener(tx, issue, task), sides.receiver(tx, task))}
    own_mailboxes = {HUMAN} if not caller.is_session else {caller.session_id, caller.project_id}
    targets = [target for mailbox, target in target_by_mailbox.items() if mailbox not in own_mailboxes]
    if not targets and is_outside(issue.opener):
        return []  # the issue began in a tracker, and its readers see the comment in the tracker
    return targets or [sides.to_project(tx, task.project_id)]
