"""Apply the changes of a tracker's issues to Maestro. The tracker wins over Maestro.

Each public function is the work of one transaction on one issue.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from maestro.core import limits
from maestro.domain.events import EventKind, NewEvent
from maestro.domain.issues import Issue
from maestro.domain.messages import Message, MessageType, Sender, SenderKind, reply_subject
from maestro.domain.priorities import Priority
from maestro.domain.projects import Project
from maestro.domain.sessions import Session
from maestro.domain.tasks import Task
from maestro.domain.trackers import (
    IssueStanding,
    IssueState,
    MirroredIssue,
    encode_standing,
    fingerprint_comment,
    is_tracker_person,
    marked_message_id,
    next_task_move,
    task_id_in_reference,
    title_of_issue,
    tracker_person,
)
from maestro.services.issues import recipients, task_moved
from maestro.services.issues.opening import IssueDraft, create_issue_task
from maestro.services.mail.create import Draft, MailTarget, inline_body, post_message, sender_of
from maestro.services.redacting import hide_tokens
from maestro.services.sessions import notices
from maestro.services.tasks.consequences import TaskConsequences
from maestro.services.trackers.people import actor_of, caller_from_tracker, holder_for
from maestro.store.base import Tx
from maestro.text import redaction
from maestro.trackers.base import IssueWithComments, TrackerComment, TrackerIssue

_MOVES_MAX = 8  # enough to get from any status to any other


def adopt_issue(tx: Tx, project_id: str, issue: TrackerIssue) -> None:
    """Connect an issue that Maestro created in the tracker, and whose creation was not recorded, to its task."""
    task_id = task_id_in_reference(issue.outside_ref)
    mirror = tx.trackers.get_mirror(task_id) if task_id else None
    if mirror is not None and mirror.ref is None and mirror.project_id == project_id:
        tx.trackers.put_mirror(
            update_mirror(msgspec.structs.replace(mirror, ref=issue.ref, is_being_created=False, dirty=True), issue)
        )


def apply_issue(tx: Tx, project: Project, found: IssueWithComments) -> None:
    """Apply all news about an issue: its existence, its state, its title and its comments."""
    issue = hide_tokens(found.issue)
    mirror = tx.trackers.mirror_of_ref(project.id, issue.ref) or _import_issue(tx, project, issue)
    if mirror is None:
        return
    task, about = tx.tasks.get(mirror.task_id), tx.issues.of_task(mirror.task_id)
    if task is None or about is None:
        return  # the task was deleted in Maestro; the issue in the tracker is left alone
    if _has_moved(mirror, issue):
        task = _move_task(tx, task, issue)
    if mirror.title and issue.title != mirror.title:
        task = _rename_task(tx, task, issue)
    _import_comments(tx, project, about, task, found.comments)
    mirror = tx.trackers.get_mirror(mirror.task_id) or mirror
    problem = mirror.problem if mirror.failures else ""  # a problem without failures means a missing issue: now found
    tx.trackers.put_mirror(update_mirror(msgspec.structs.replace(mirror, problem=problem), issue))


def update_mirror(mirror: MirroredIssue, issue: TrackerIssue) -> MirroredIssue:
    """Return the mirror with the tracker's present facts about the issue."""
    return msgspec.structs.replace(
        mirror,
        state=issue.standing.state,
        assignee=issue.standing.assignee,
        title=issue.title,
        stamp=issue.stamp,
        state_being_written="",
    )


def note_missing_issue(tx: Tx, mirror: MirroredIssue) -> None:
    """Note that the tracker no longer has the issue. The task stays: a new tracker database must not end work."""
    problem = f"{mirror.ref} is not in the tracker."
    if mirror.problem != problem:
        tx.trackers.put_mirror(msgspec.structs.replace(mirror, problem=problem))


def _has_moved(mirror: MirroredIssue, issue: TrackerIssue) -> bool:
    """Return whether a user of the tracker has moved the issue.

    A state that Maestro itself was writing when its server ended is no such move.
    """
    if mirror.state is None:
        return False
    return (
        issue.standing != IssueStanding(mirror.state, mirror.assignee)
        and encode_standing(issue.standing) != mirror.state_being_written
    )


def _import_issue(tx: Tx, project: Project, issue: TrackerIssue) -> MirroredIssue | None:
    """Create a task for an issue that was created in the tracker. No agent gets mail; the list of issues shows it."""
    if issue.standing.state is IssueState.CLOSED or not issue.is_work:
        return None
    caller = caller_from_tracker(issue.created_by)
    title = title_of_issue(issue.title) or issue.ref
    text = issue.description[: limits.description_chars_max]
    opening = IssueDraft(
        receiver=project, sender=project, title=title, text=text, body=inline_body(text), priority=issue.priority
    )
    task = create_issue_task(tx, caller, opening)
    sender = msgspec.structs.replace(sender_of(tx, caller), project=project.name)
    posted = post_message(tx, _draft(task, project, sender, [], text, subject=title))
    tx.issues.insert(Issue(task.id, posted.thread_id, caller.name))
    task_moved.log_issue_event(tx, EventKind.ISSUE_OPENED, task, actor=caller.name, message=posted.id)
    mirror = MirroredIssue(task.id, project.id, ref=issue.ref, state=IssueState.OPEN, title=issue.title, dirty=False)
    tx.trackers.put_mirror(mirror)
    return mirror


def _move_task(tx: Tx, task: Task, issue: TrackerIssue) -> Task:
    """Move the task to the state that its issue has in the tracker, with all consequences."""
    stand, before = issue.standing, task
    caller = caller_from_tracker(stand.assignee or "")
    holder = holder_for(tx, task, stand.assignee)
    outcome = TaskConsequences(tx, caller, message=issue.reason)
    for _ in range(_MOVES_MAX):
        move = next_task_move(
            task,
            stand.state,
            holder=holder,
            lease_seconds=None if is_tracker_person(holder) else limits.task_lease_seconds_default,
            reason=issue.reason,
            at=tx.at,
        )
        if move is None:
            break
        outcome.apply_move(move)
        task = tx.tasks.get(task.id) or task
    _notify_former_holder(tx, before, task, stand)
    return task


def _notify_former_holder(tx: Tx, before: Task, after: Task, stand: IssueStanding) -> None:
    """Tell a session that has lost the task to stop working on the task."""
    session: Session | None = None
    if before.holder is not None and before.holder.startswith("ses_") and before.holder != after.holder:
        session = tx.sessions.get(before.holder)
    if session is None or session.ended_at is not None:
        return
    is_claimed = stand.state is IssueState.STARTED and stand.assignee
    change = f"{stand.assignee} has claimed {after.ref}" if is_claimed else f"{after.ref} is {stand.state}"
    notices.notify_session(
        tx,
        session,
        subject=f"{after.ref} is no longer yours",
        text=f"In the project's tracker {change}. The tracker takes precedence. Stop working on {after.ref}.",
        priority=Priority.HIGH,
        task_id=after.id,
    )


def _rename_task(tx: Tx, task: Task, issue: TrackerIssue) -> Task:
    title = title_of_issue(issue.title)
    if not title or title == task.title:
        return task
    renamed = msgspec.structs.replace(task, title=title, updated_at=tx.at)
    tx.tasks.update(renamed)
    data = {"ref": task.ref, "fields": ["title"]}
    tx.log(NewEvent(EventKind.TASK_EDITED, task.id, task.project_id, data), actor=tracker_person(""))
    return renamed


def _import_comments(tx: Tx, project: Project, about: Issue, task: Task, comments: Sequence[TrackerComment]) -> None:
    """Turn new comments into messages. Comments that Maestro wrote are recognised by their mark."""
    known = tx.trackers.comments_of(task.id) if comments else []
    known_positions = {(comment.fingerprint, comment.number) for comment in known}
    known_messages = {comment.message_id for comment in known}
    count: Counter[str] = Counter()
    for comment in comments:
        mark = fingerprint_comment(comment.author, comment.text)
        number, count[mark] = count[mark], count[mark] + 1
        if (mark, number) in known_positions:
            continue
        message_id = marked_message_id(comment.text)
        if message_id is None or message_id in known_messages or not _is_in_thread(tx.mail.get(message_id), about):
            message_id = _post_comment(tx, project, about, task, comment)
        known_messages.add(message_id)
        tx.trackers.put_comment(task.id, mark, number, message_id)


def _is_in_thread(message: Message | None, about: Issue) -> bool:
    return message is not None and message.thread_id == about.thread_id


def _post_comment(tx: Tx, project: Project, about: Issue, task: Task, comment: TrackerComment) -> str:
    """Mail a comment to the opener of the issue and to the holder of its task, but not to the comment's author."""
    author = comment.author or "someone"
    targets: dict[str, MailTarget] = {}
    for name in (about.opener, task.holder):
        if name is not None and not is_tracker_person(name) and actor_of(tx, name) != author:
            target = (
                recipients.opener_target(tx, about, task)
                if name == about.opener
                else recipients.receiver_target(tx, task)
            )
            targets[target.mailbox] = target
    sender = Sender(SenderKind.TRACKER, tracker_person(author), author, None, "", project.name)
    text = redaction.hide_tokens(comment.text)[: limits.message_chars_max]
    subject = reply_subject(task.title)[: limits.subject_chars_max]
    posted = post_message(
        tx, _draft(task, project, sender, list(targets.values()), text, subject=subject, about=about)
    )
    task_moved.log_issue_event(tx, EventKind.ISSUE_COMMENTED, task, actor=tracker_person(author), message=posted.id)
    return posted.id


def _draft(
    task: Task,
    project: Project,
    sender: Sender,
    targets: list[MailTarget],
    text: str,
    *,
    subject: str,
    about: Issue | None = None,
) -> Draft:
    return Draft(
        sender=sender,
        project_id=project.id,
        to=[target.name or target.mailbox for target in targets],
        targets=targets,
        type=MessageType.RESPONSE if about else MessageType.QUERY,
        priority=task.priority,
        subject=subject,
        body=inline_body(text),
        task_id=task.id,
        thread_id=about.thread_id if about else None,
    )
