"""Comments on issues. A comment is a message with receipts from a party of the issue to the other party.

A comment of the asking project on a closed issue reopens the issue, if the asked project allows reopening.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from maestro.core import errors, limits
from maestro.domain import tasks
from maestro.domain.callers import Caller
from maestro.domain.documents import StoredContent
from maestro.domain.events import EventKind
from maestro.domain.issues import Issue, IssueParty, is_closed, party_of
from maestro.domain.messages import HUMAN_MAILBOX, Message, MessageType, ReceiptStep, reply_subject
from maestro.domain.priorities import Priority
from maestro.domain.tasks import Task
from maestro.domain.trackers import is_tracker_person
from maestro.operations import mail_shapes as ops
from maestro.services.issues import recipients, task_moved
from maestro.services.mail import receipts, threads
from maestro.services.mail.create import Draft, MailTarget, own_mailboxes, post_message, sender_of
from maestro.services.mail.rate_limit import MailLimiter
from maestro.services.tasks.consequences import TaskConsequences
from maestro.store.base import Tx


class NewComment(msgspec.Struct, frozen=True, kw_only=True):
    """A comment before posting."""

    text: str
    body: StoredContent
    files: Sequence[tuple[str, StoredContent]] = ()
    type: MessageType = MessageType.RESPONSE
    subject: str | None = None
    priority: Priority | None = None
    parent: Message | None = None  # the answered message; None: the last message of the thread


def post_comment(
    tx: Tx,
    caller: Caller,
    guard: MailLimiter,
    issue: Issue,
    task: Task,
    new_comment: NewComment,
    *,
    speaking_project_id: str | None = None,
) -> ops.SentMail:
    """Post a comment in an issue's thread. The person speaks for the project `speaking_project_id`."""
    party = party_of_caller(caller, issue, task, speaking_project_id=speaking_project_id)
    parent = new_comment.parent or tx.mail.last_of_thread(issue.thread_id)
    hops = guard.count_hops(caller, parent, at=tx.at) if parent else 0
    if is_closed(task) and party is IssueParty.OPENER:
        task = _reopen_for_comment(tx, caller, task)
    targets = _comment_targets(tx, caller, issue, task)
    for target in targets:
        guard.count_message(tx, caller, target.mailbox, name=target.name)
    draft = Draft(
        sender=sender_of(tx, caller),
        project_id=caller.project_id or (task.from_project_id if party is IssueParty.OPENER else task.project_id),
        to=[target.name or target.mailbox for target in targets],
        targets=targets,
        type=new_comment.type,
        priority=new_comment.priority or task.priority,
        subject=(new_comment.subject or reply_subject(task.title))[: limits.subject_chars_max],
        body=new_comment.body,
        preview=new_comment.text[: limits.inbox_body_chars_max],
        task_id=task.id,
        parent=parent,
        thread_id=issue.thread_id,
        hops=hops,
        attachments=new_comment.files,
    )
    posted = post_message(tx, draft)
    task_moved.log_issue_event(tx, EventKind.ISSUE_COMMENTED, task, actor=caller.name, message=posted.id)
    if parent is not None:
        for mailbox in own_mailboxes(caller):
            receipts.record_step(tx, caller, ReceiptStep.ACKNOWLEDGED, mailbox, parent.seq, via="reply")
    if party is IssueParty.RECEIVER and caller.is_session:
        # The holder of the thread gets the answer.
        threads.claim_thread_for(tx, caller, issue.thread_id, ignore_conflict=True)
    return msgspec.structs.replace(receipts.new_message_answer(tx, draft, posted), issue=task.ref)


def check_comment(
    tx: Tx, caller: Caller, guard: MailLimiter, issue: Issue, task: Task, *, speaking_project_id: str | None = None
) -> None:
    """Refuse a comment that cannot be posted, as far as a read can show, without changing anything."""
    party = party_of_caller(caller, issue, task, speaking_project_id=speaking_project_id)
    if is_closed(task) and party is IssueParty.OPENER:
        _require_reopening_by_reply(tx, task)
    for target in _comment_targets(tx, caller, issue, task):
        guard.check_message(tx, caller, target.mailbox, name=target.name)


def party_of_caller(caller: Caller, issue: Issue, task: Task, *, speaking_project_id: str | None) -> IssueParty:
    """Return the caller's party: a session speaks for its own project, the person for `speaking_project_id`."""
    if caller.is_session:
        party = party_of(task, caller.project_id)
        if party is None:
            raise errors.NotPermitted(
                f"Only agents of the two projects of issue {task.ref} may comment on the issue.",
                hint="Open your own issue: maestro issue open PROJECT …",
                data={"ref": task.ref},
            )
        return party
    if party_of(task, speaking_project_id) is IssueParty.OPENER or (
        issue.opener == caller.name and task.holder != caller.name
    ):
        return IssueParty.OPENER
    return IssueParty.RECEIVER


def _reopen_for_comment(tx: Tx, caller: Caller, task: Task) -> Task:
    _require_reopening_by_reply(tx, task)
    return TaskConsequences(tx, caller).apply_move(tasks.reopen(task, at=tx.at))


def _require_reopening_by_reply(tx: Tx, task: Task) -> None:
    receiver = tx.projects.get(task.project_id)
    if receiver is not None and not receiver.replies_reopen:
        raise errors.Conflict(
            f"{task.ref} is closed ({task.status}), and {receiver.name} does not reopen issues for a reply.",
            hint=f"Open a new issue: maestro issue open {receiver.name} --title … --message …",
            data={"ref": task.ref, "status": task.status.value},
        )


def _comment_targets(tx: Tx, caller: Caller, issue: Issue, task: Task) -> list[MailTarget]:
    """Return the mailboxes of both parties, without the caller's own mailbox and its project's mailbox."""
    target_by_mailbox = {
        target.mailbox: target
        for target in (recipients.opener_target(tx, issue, task), recipients.receiver_target(tx, task))
    }
    own_mailboxes = {HUMAN_MAILBOX} if not caller.is_session else {caller.session_id, caller.project_id}
    targets = [target for mailbox, target in target_by_mailbox.items() if mailbox not in own_mailboxes]
    if not targets and is_tracker_person(issue.opener):
        return []  # the issue began in a tracker, and its readers see the comment in the tracker
    return targets or [recipients.project_target(tx, task.project_id)]
