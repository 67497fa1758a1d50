"""Apply the changes of a tracker's issues to Maestro. The tracker wins over Maestro.

Each public function is the work of one transaction on one issue.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from maestro.core import limits
from maestro.domain.events import Change, Kind
from maestro.domain.issues import Issue
from maestro.domain.messages import Message, Sender, SenderKind, Type, reply_subject
from maestro.domain.projects import Project
from maestro.domain.sessions import Session
from maestro.domain.tasks import Priority, Task
from maestro.domain.trackers import (
    Mirror,
    Stand,
    State,
    fingerprint,
    is_outside,
    message_in,
    next_move,
    one_line,
    outside,
    task_in,
    told,
)
from maestro.services.issues import news, sides
from maestro.services.issues.opening import Opening, put_in
from maestro.services.mail.post import Draft, Target, post, sender_of, small
from maestro.services.redacting import hide_tokens
from maestro.services.sessions import notices
from maestro.services.tasks.consequences import Outcome
from maestro.services.trackers.names import actor_of, from_tracker, holder_for
from maestro.store.base import Tx
from maestro.text import redaction
from maestro.trackers.base import Comment, Looked, TrackerIssue

_MOVES_MAX = 8  # enough to get from any status to any other


def adopt(tx: Tx, project_id: str, issue: TrackerIssue) -> None:
    """Connect an issue that Maestro created in the tracker, and whose creation was not recorded, to its task."""
    task_id = task_in(issue.outside_ref)
    mirror = tx.trackers.mirror(task_id) if task_id else None
    if mirror is not None and mirror.ref is None and mirror.project_id == project_id:
        tx.trackers.keep(seen(msgspec.structs.replace(mirror, ref=issue.ref, trying=False, dirty=True), issue))


def take_in(tx: Tx, project: Project, looked: Looked) -> None:
    """Apply all news about an issue: its existence, its state, its title and its comments."""
    issue = hide_tokens(looked.issue)
    mirror = tx.trackers.of_ref(project.id, issue.ref) or _import_issue(tx, project, issue)
    if mirror is None:
        return
    task, about = tx.tasks.get(mirror.task_id), tx.issues.of_task(mirror.task_id)
    if task is None or about is None:
        return  # the task was deleted in Maestro; the issue in the tracker is left alone
    if _has_moved(mirror, issue):
        task = _move_task(tx, task, issue)
    if mirror.title and issue.title != mirror.title:
        task = _rename_task(tx, task, issue)
    _import_comments(tx, project, about, task, looked.comments)
    mirror = tx.trackers.mirror(mirror.task_id) or mirror
    problem = mirror.problem if mirror.failures else ""  # a problem without failures means a missing issue: now found
    tx.trackers.keep(seen(msgspec.structs.replace(mirror, problem=problem), issue))


def seen(mirror: Mirror, issue: TrackerIssue) -> Mirror:
    """Return the mirror with the tracker's present facts about the issue."""
    return msgspec.structs.replace(
        mirror,
        state=issue.stand.state,
        who=issue.stand.who,
        title=issue.title,
        stamp=issue.stamp,
        telling="",
    )


def missing(tx: Tx, mirror: Mirror) -> None:
    """Note that the tracker no longer has the issue. The task stays: a new tracker database must not end work."""
    problem = f"{mirror.ref} is not in the tracker."
    if mirror.problem != problem:
        tx.trackers.keep(msgspec.structs.replace(mirror, problem=problem))


def _has_moved(mirror: Mirror, issue: TrackerIssue) -> bool:
    """Return whether a user of the tracker has moved the issue.

    A state that Maestro itself was writing when its server ended is no such move.
    """
    if mirror.state is None:
        return False
    return issue.stand != Stand(mirror.state, mirror.who) and told(issue.stand) != mirror.telling


def _import_issue(tx: Tx, project: Project, issue: TrackerIssue) -> Mirror | None:
    """Create a task for an issue that was created in the tracker. No agent gets mail; the list of issues shows it."""
    if issue.stand.state is State.CLOSED or not issue.is_work:
        return None
    caller = from_tracker(issue.by)
    title = one_line(issue.title) or issue.ref
    text = issue.description[: limits.description_chars_max]
    opening = Opening(
        receiver=project, sender=project, title=title, text=text, body=small(text), priority=issue.priority
    )
    task = put_in(tx, caller, opening)
    sender = msgspec.structs.replace(sender_of(tx, caller), project=project.name)
    posted = post(tx, _draft(task, project, sender, [], text, subject=title))
    tx.issues.insert(Issue(task.id, posted.thread_id, caller.name))
    news.log(tx, Kind.ISSUE_OPENED, task, actor=caller.name, message=posted.id)
    mirror = Mirror(task.id, project.id, ref=issue.ref, state=State.OPEN, title=issue.title, dirty=False)
    tx.trackers.keep(mirror)
    return mirror


def _move_task(tx: Tx, task: Task, issue: TrackerIssue) -> Task:
    """Move the task to the state that its issue has in the tracker, with all consequences."""
    stand, before = issue.stand, task
    caller = from_tracker(stand.who or "")
    holder = holder_for(tx, task, stand.who)
    outcome = Outcome(tx, caller, said=issue.reason)
    for _ in range(_MOVES_MAX):
        move = next_move(
            task,
            stand.state,
            holder=holder,
            lease_seconds=None if is_outside(holder) else limits.lease_seconds_default,
            reason=issue.reason,
            at=tx.at,
        )
        if move is None:
            break
        outcome.apply(move)
        task = tx.tasks.get(task.id) or task
    _notify_former_holder(tx, before, task, stand)
    return task


def _notify_former_holder(tx: Tx, before: Task, after: Task, stand: Stand) -> None:
    """Tell a session that has lost the task to stop working on the task."""
    session: Session | None = None
    if before.holder is not None and before.holder.startswith("ses_") and before.holder != after.holder:
        session = tx.sessions.get(before.holder)
    if session is None or session.ended_at is not None:
        return
    is_claimed = stand.state is State.STARTED and stand.who
    change = f"{stand.who} has claimed {after.ref}" if is_claimed else f"{after.ref} is {stand.state}"
    notices.to_session(
        tx,
        session,
        subject=f"{after.ref} is no longer yours",
        text=f"In the project's tracker {change}. The tracker takes precedence. Stop working on {after.ref}.",
        priority=Priority.HIGH,
        task_id=after.id,
    )


def _rename_task(tx: Tx, task: Task, issue: TrackerIssue) -> Task:
    title = one_line(issue.title)
    if not title or title == task.title:
        return task
    renamed = msgspec.structs.replace(task, title=title, updated_at=tx.at)
    tx.tasks.edit(renamed)
    data = {"ref": task.ref, "fields": ["title"]}
    tx.log(Change(Kind.TASK_EDITED, task.id, task.project_id, data), actor=outside(""))
    return renamed


def _import_comments(tx: Tx, project: Project, about: Issue, task: Task, comments: Sequence[Comment]) -> None:
    """Turn new comments into messages. Comments that Maestro wrote are recognised by their mark."""
    known = tx.trackers.comments(task.id) if comments else []
    known_positions = {(mark, number) for mark, number, _ in known}
    known_messages = {message_id for _, _, message_id in known}
    count: Counter[str] = Counter()
    for comment in comments:
        mark = fingerprint(comment.author, comment.text)
        number, count[mark] = count[mark], count[mark] + 1
        if (mark, number) in known_positions:
            continue
        message_id = message_in(comment.text)
        if message_id is None or message_id in known_messages or not _is_in_thread(tx.mail.get(message_id), about):
            message_id = _post_comment(tx, project, about, task, comment)
        known_messages.add(message_id)
        tx.trackers.keep_comment(task.id, mark, number, message_id)


def _is_in_thread(message: Message | None, about: Issue) -> bool:
    return message is not None and message.thread_id == about.thread_id


def _post_comment(tx: Tx, project: Project, about: Issue, task: Task, comment: Comment) -> str:
    """Mail a comment to the opener of the issue and to the holder of its task, but not to the comment's author."""
    author = comment.author or "someone"
    targets: dict[str, Target] = {}
    for name in (about.opener, task.holder):
        if name is not None and not is_outside(name) and actor_of(tx, name) != author:
            target = sides.opener(tx, about, task) if name == about.opener else sides.receiver(tx, task)
            targets[target.box] = target
    sender = Sender(SenderKind.TRACKER, outside(author), author, None, "", project.name)
    text = redaction.hide(comment.text)[: limits.message_chars_max]
    subject = reply_subject(task.title)[: limits.subject_chars_max]
    posted = post(tx, _draft(task, project, sender, list(targets.values()), text, subject=subject, about=about))
    news.log(tx, Kind.ISSUE_COMMENTED, task, actor=outside(author), message=posted.id)
    return posted.id


def _draft(
    task: Task,
    project: Project,
    sender: Sender,
    targets: list[Target],
    text: str,
    *,
    subject: str,
    about: Issue | None = None,
) -> Draft:
    return Draft(
        sender=sender,
        project_id=project.id,
        to=[target.name or target.box for target in targets],
        targets=targets,
        type=Type.RESPONSE if about else Type.QUERY,
        priority=task.priority,
        subject=subject,
        body=small(text),
        task_id=task.id,
        thread_id=about.thread_id if about else None,
    )
