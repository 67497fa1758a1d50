"""What is said about an issue: comments are messages, with receipts, from one side to the other.

A comment of the opener's side on a closed issue opens it again, if the receiver lets it.
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
    """Something to be said about an issue."""

    text: str
    body: Content
    files: Sequence[tuple[str, Content]] = ()
    type: Type = Type.RESPONSE
    subject: str | None = None
    priority: Priority | None = None
    parent: Message | None = None  # what it answers, if not what was said last


def comment(
    tx: Tx, caller: Caller, guard: Guard, issue: Issue, task: Task, said: Comment, *, here: str | None = None
) -> ops.SentMail:
    """Say something; `here` is the project that the person speaks from."""
    side = speaks_for(caller, issue, task, here=here)
    parent = said.parent or tx.mail.last_of_thread(issue.thread_id)
    hops = guard.hop(caller, parent, at=tx.at) if parent else 0
    if is_closed(task) and side is Side.OPENER:
        task = _open_again(tx, caller, task)
    targets = _others(tx, caller, issue, task)
    for target in targets:
        guard.count(tx, caller, target.box, name=target.name)
    draft = Draft(
        sender=sender_of(tx, caller),
        project_id=caller.project_id or (task.from_project_id if side is Side.OPENER else task.project_id),
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
        for box in own_boxes(caller):
            receipts.take(tx, caller, Step.ACKNOWLEDGED, box, parent.seq, via="reply")
    if side is Side.RECEIVER and caller.is_session:
        threads.claim_for(tx, caller, issue.thread_id, quietly=True)  # whoever asks is who gets the answer
    return msgspec.structs.replace(receipts.just_sent(tx, draft, posted), issue=task.ref)


def check_comment(tx: Tx, caller: Caller, guard: Guard, issue: Issue, task: Task, *, here: str | None = None) -> None:
    """Refuse what `comment` would refuse, as far as a look can tell; change nothing."""
    side = speaks_for(caller, issue, task, here=here)
    if is_closed(task) and side is Side.OPENER:
        _may_open_again(tx, task)
    for target in _others(tx, caller, issue, task):
        guard.check(tx, caller, target.box, name=target.name)


def speaks_for(caller: Caller, issue: Issue, task: Task, *, here: str | None) -> Side:
    """A session speaks for its own project, the person for the one they are in."""
    if caller.is_session:
        side = side_of(task, caller.project_id)
        if side is None:
            raise errors.NotPermitted(
                f"Only agents of the two projects have a say in {task.ref}.",
                hint="To bring up something of your own: maestro issue open PROJECT …",
                data={"ref": task.ref},
            )
        return side
    if side_of(task, here) is Side.OPENER or (issue.opener == caller.name and task.holder != caller.name):
        return Side.OPENER
    return Side.RECEIVER


def _open_again(tx: Tx, caller: Caller, task: Task) -> Task:
    _may_open_again(tx, task)
    return Outcome(tx, caller).apply(tasks.reopen(task, at=tx.at))


def _may_open_again(tx: Tx, task: Task) -> None:
    receiver = tx.projects.get(task.project_id)
    if receiver is not None and not receiver.replies_reopen:
        raise errors.Conflict(
            f"{task.ref} is closed ({task.status}), and {receiver.name} does not open issues again for a reply.",
            hint=f"Open a new one: maestro issue open {receiver.name} --title … --message …",
            data={"ref": task.ref, "status": task.status.value},
        )


def _others(tx: Tx, caller: Caller, issue: Issue, task: Task) -> list[Target]:
    """Both sides, without the one who speaks, and without all of its own project."""
    found = {target.box: target for target in (sides.opener(tx, issue, task), sides.receiver(tx, task))}
    own = {HUMAN} if not caller.is_session else {caller.session_id, caller.project_id}
    others = [target for box, target in found.items() if box not in own]
    if not others and is_outside(issue.opener):
        return []  # a note on what began in the tracker, for whoever reads there
    return others or [sides.to_project(tx, task.project_id)]
