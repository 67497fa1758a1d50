"""What a tracker says, taken over: its word wins. Each function is one transaction's work on one issue."""

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

_MOVES_MAX = 8  # from any status to any other


def adopt(tx: Tx, project_id: str, issue: TrackerIssue) -> None:
    """An issue that we made and did not see being made."""
    task_id = task_in(issue.outside_ref)
    mirror = tx.trackers.mirror(task_id) if task_id else None
    if mirror is not None and mirror.ref is None and mirror.project_id == project_id:
        tx.trackers.keep(seen(msgspec.structs.replace(mirror, ref=issue.ref, trying=False, dirty=True), issue))


def take_in(tx: Tx, project: Project, looked: Looked) -> None:
    """All that is new about an issue: that it is there, where it stands, what was said."""
    issue = hide_tokens(looked.issue)
    mirror = tx.trackers.of_ref(project.id, issue.ref) or _bring_in(tx, project, issue)
    if mirror is None:
        return
    task, about = tx.tasks.get(mirror.task_id), tx.issues.of_task(mirror.task_id)
    if task is None or about is None:
        return  # it was deleted here; there it goes its own way
    if _is_news(mirror, issue):
        task = _follow(tx, task, issue)
    if mirror.title and issue.title != mirror.title:
        task = _rename(tx, task, issue)
    _listen(tx, project, about, task, looked.comments)
    mirror = tx.trackers.mirror(mirror.task_id) or mirror
    problem = mirror.problem if mirror.failures else ""  # that it was not to be found
    tx.trackers.keep(seen(msgspec.structs.replace(mirror, problem=problem), issue))


def seen(mirror: Mirror, issue: TrackerIssue) -> Mirror:
    """What the tracker said last."""
    return msgspec.structs.replace(
        mirror,
        state=issue.stand.state,
        who=issue.stand.who,
        title=issue.title,
        stamp=issue.stamp,
        telling="",
    )


def missing(tx: Tx, mirror: Mirror) -> None:
    """An issue that the tracker no longer has. Its task stays: a database that was set up anew must end nothing."""
    why = f"{mirror.ref} is not in the tracker."
    if mirror.problem != why:
        tx.trackers.keep(msgspec.structs.replace(mirror, problem=why))


def _is_news(mirror: Mirror, issue: TrackerIssue) -> bool:
    """Whether someone else moved it. What we were about to tell when we were ended is none."""
    if mirror.state is None:
        return False
    return issue.stand != Stand(mirror.state, mirror.who) and told(issue.stand) != mirror.telling


def _bring_in(tx: Tx, project: Project, issue: TrackerIssue) -> Mirror | None:
    """An issue that began in the tracker. It comes quietly: whoever wants to hear of it finds it among the issues."""
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


def _follow(tx: Tx, task: Task, issue: TrackerIssue) -> Task:
    """Move a task to where the tracker has it, with all that follows."""
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
    _tell_loser(tx, before, task, stand)
    return task


def _tell_loser(tx: Tx, before: Task, after: Task, stand: Stand) -> None:
    """Whoever had it and has it no longer must stop."""
    session: Session | None = None
    if before.holder is not None and before.holder.startswith("ses_") and before.holder != after.holder:
        session = tx.sessions.get(before.holder)
    if session is None or session.ended_at is not None:
        return
    whose = f"{stand.who} has it" if stand.state is State.STARTED and stand.who else f"it is {stand.state}"
    notices.to_session(
        tx,
        session,
        subject=f"{after.ref} is no longer yours",
        text=f"In the project's tracker {whose}, and that counts. Stop working on {after.ref}.",
        priority=Priority.HIGH,
        task_id=after.id,
    )


def _rename(tx: Tx, task: Task, issue: TrackerIssue) -> Task:
    title = one_line(issue.title)
    if not title or title == task.title:
        return task
    renamed = msgspec.structs.replace(task, title=title, updated_at=tx.at)
    tx.tasks.edit(renamed)
    data = {"ref": task.ref, "fields": ["title"]}
    tx.log(Change(Kind.TASK_EDITED, task.id, task.project_id, data), actor=outside(""))
    return renamed


def _listen(tx: Tx, project: Project, about: Issue, task: Task, comments: Sequence[Comment]) -> None:
    """What was said there and is not here. Our own come back with their mark, and are known by it."""
    known = tx.trackers.comments(task.id) if comments else []
    places = {(mark, number) for mark, number, _ in known}
    ours = {message_id for _, _, message_id in known}
    count: Counter[str] = Counter()
    for comment in comments:
        mark = fingerprint(comment.author, comment.text)
        number, count[mark] = count[mark], count[mark] + 1
        if (mark, number) in places:
            continue
        said = message_in(comment.text)
        if said is None or said in ours or not _is_of(tx.mail.get(said), about):
            said = _say(tx, project, about, task, comment)
        ours.add(said)
        tx.trackers.keep_comment(task.id, mark, number, said)


def _is_of(message: Message | None, about: Issue) -> bool:
    return message is not None and message.thread_id == about.thread_id


def _say(tx: Tx, project: Project, about: Issue, task: Task, comment: Comment) -> str:
    """A comment becomes mail for whoever opened the issue and whoever works on it, without the one who wrote it."""
    who = comment.author or "someone"
    concerned: dict[str, Target] = {}
    for name in (about.opener, task.holder):
        if name is not None and not is_outside(name) and actor_of(tx, name) != who:
            target = sides.opener(tx, about, task) if name == about.opener else sides.receiver(tx, task)
            concerned[target.box] = target
    sender = Sender(SenderKind.TRACKER, outside(who), who, None, "", project.name)
    text = redaction.hide(comment.text)[: limits.message_chars_max]
    subject = reply_subject(task.title)[: limits.subject_chars_max]
    posted = post(tx, _draft(task, project, sender, list(concerned.values()), text, subject=subject, about=about))
    news.log(tx, Kind.ISSUE_COMMENTED, task, actor=outside(who), message=posted.id)
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
