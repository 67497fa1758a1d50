"""Trackers beside Maestro: the tracker of a project, the state of its issues, and how tasks and issues follow. Pure.

The tracker wins: a change in the tracker is applied to the task. A change of the task is written to the tracker only
if the issue has not changed there.
"""

from __future__ import annotations

import enum
import hashlib
import re
from collections.abc import Mapping
from datetime import datetime

import msgspec

from maestro.core import limits
from maestro.domain import tasks
from maestro.domain.links import LinkSource
from maestro.domain.tasks import FINAL_STATUSES, Task, TaskMove, TaskStatus
from maestro.text import bounded_toml


class TrackerKind(enum.StrEnum):
    """The tracker that keeps a project's issues."""

    BUILTIN = "builtin"  # in Maestro itself
    BEADS = "beads"  # in Beads, through its program `bd`


class IssueState(enum.StrEnum):
    """The state of an issue, in the terms that all trackers share."""

    OPEN = "open"
    STARTED = "started"
    BLOCKED = "blocked"
    CLOSED = "closed"


class IssueStanding(msgspec.Struct, frozen=True):
    """The state of an issue and its assignee in the tracker."""

    state: IssueState
    assignee: str | None = None


class TrackerStep(enum.Enum):
    """An action on an issue in the tracker, with which the issue follows the task."""

    CLAIM = "claim"
    RELEASE = "release"
    BLOCK = "block"
    CLOSE = "close"
    REOPEN = "reopen"


class ProjectTracker(msgspec.Struct, frozen=True):
    """The tracker of a project, and the progress of the synchronisation with it."""

    project_id: str
    kind: TrackerKind
    path: str  # the checkout that contains the tracker
    source: LinkSource
    cursor: int = 0  # the sequence number of the last event that was handled
    version: str = ""
    read_at: datetime | None = None  # the time when the whole tracker was last read
    succeeded_at: datetime | None = None  # the time of the last round without a failure
    due_at: datetime | None = None  # the earliest time of the next round
    failures: int = 0
    problem: str = ""


class MirroredIssue(msgspec.Struct, frozen=True):
    """An issue in Maestro and in the tracker, and the state of its synchronisation."""

    task_id: str
    project_id: str
    ref: str | None = None  # the issue's id in the tracker; None until the issue exists there
    state: IssueState | None = None  # the last state that the tracker reported
    assignee: str | None = None
    title: str = ""
    stamp: str = ""  # differs after each possible change in the tracker
    dirty: bool = True  # Maestro has changes that the tracker does not have yet
    is_being_created: bool = False  # Maestro began to create the issue, and the result is not known
    # The state that Maestro is writing: a state read back from the tracker is no change.
    state_being_written: str = ""
    last_message_seq: int = 0  # the last message of the issue's thread that was handled
    problem: str = ""  # why the tracker refuses the issue
    failures: int = 0
    retry_at: datetime | None = None


TRACKER_PREFIX = "tracker:"  # stands before the name of a person that only a tracker knows
_MARK = re.compile(r"\[maestro:(msg_[0-9a-z]+)\]")
_REF_PREFIX = "maestro:"


def is_tracker_person(name: str | None) -> bool:
    """Return whether a name belongs to a person that only a tracker knows."""
    return name is not None and name.startswith(TRACKER_PREFIX)


def tracker_person(name: str | None) -> str:
    """Return the name, for records, of a person that only a tracker knows."""
    return TRACKER_PREFIX + (name or "someone")


def configured_tracker(texts: Mapping[LinkSource, str], problems: list[str]) -> tuple[TrackerKind, LinkSource] | None:
    """Return the tracker that a checkout's settings files name. The local file counts more than the committed one."""
    for source in (LinkSource.LOCAL, LinkSource.CONFIG):
        try:
            table = bounded_toml.parse_toml(texts.get(source, "")).get("tracker")
        except bounded_toml.TomlUnreadable:
            continue  # `links.read_entries` reports the file
        if table is None:
            continue
        kind = table.get("kind") if isinstance(table, dict) else None
        try:
            return msgspec.convert(kind, TrackerKind), source
        except msgspec.ValidationError:
            problems.append(f"{source.value}: [tracker] kind is not valid. Use one of: {', '.join(TrackerKind)}.")
    return None


def issue_state_of(task: Task) -> IssueState:
    """Return the state that a task's issue should have in the tracker."""
    if task.status in FINAL_STATUSES:
        return IssueState.CLOSED
    return {TaskStatus.TODO: IssueState.OPEN, TaskStatus.BLOCKED: IssueState.BLOCKED}.get(
        task.status, IssueState.STARTED
    )


def next_tracker_step(task: Task, seen: IssueStanding, *, actor: str | None) -> TrackerStep | None:
    """Return the next action in the tracker; None if the issue agrees with its task.

    `actor` is the name of the task's holder in the tracker.
    """
    wanted = issue_state_of(task)
    if wanted is IssueState.CLOSED:
        return None if seen.state is IssueState.CLOSED else TrackerStep.CLOSE
    if seen.state is IssueState.CLOSED:
        return TrackerStep.REOPEN
    if wanted is IssueState.STARTED:
        if seen.state is IssueState.STARTED and seen.assignee == actor:
            return None
        return TrackerStep.CLAIM if seen.state is IssueState.OPEN else TrackerStep.RELEASE
    if wanted is seen.state:
        return None
    return TrackerStep.BLOCK if wanted is IssueState.BLOCKED else TrackerStep.RELEASE


def next_task_move(
    task: Task, wanted: IssueState, *, holder: str, lease_seconds: int | None, reason: str, at: datetime
) -> TaskMove | None:
    """Return the next move of a task towards the state of its issue; None if the task agrees.

    `holder` gets the claim for `lease_seconds`, also for a task that the move will complete.
    """

    def start() -> TaskMove:
        return tasks.start(task, holder=holder, lease_seconds=lease_seconds, at=at)

    status = task.status
    if wanted is IssueState.CLOSED:
        if status in FINAL_STATUSES:
            return None
        if status is TaskStatus.TODO:
            return start()
        return _unblock(task, at) or tasks.complete(task, accepted=True, at=at)
    if status in FINAL_STATUSES:
        return tasks.reopen(task, at=at)
    if wanted is IssueState.BLOCKED:
        if status is TaskStatus.BLOCKED:
            return None
        return _reject(task, reason, at) or tasks.block(task, reason=reason, at=at)
    if wanted is IssueState.STARTED:
        if task.holder == holder and status in (TaskStatus.IN_PROGRESS, TaskStatus.IN_REVIEW):
            return None
        if status is TaskStatus.TODO:
            return start()
    elif status is TaskStatus.TODO:
        return None
    return _unblock(task, at) or _reject(task, reason, at) or tasks.release(task, at=at)


def _unblock(task: Task, at: datetime) -> TaskMove | None:
    return tasks.unblock(task, at=at) if task.status is TaskStatus.BLOCKED else None


def _reject(task: Task, reason: str, at: datetime) -> TaskMove | None:
    return tasks.reject(task, reason=reason, at=at) if task.status is TaskStatus.IN_REVIEW else None


def issue_reference(task_id: str) -> str:
    """Return the reference that an issue carries in its tracker.

    With the reference Maestro finds the issue again if it did not see the result of the creation.
    """
    return f"{_REF_PREFIX}{task_id}"


def task_id_in_reference(reference: str) -> str | None:
    """Return the id of the task for which Maestro created an issue; None for a foreign reference."""
    return reference.removeprefix(_REF_PREFIX) if reference.startswith(f"{_REF_PREFIX}tsk_") else None


def mark_comment(text: str, message_id: str) -> str:
    """Return a comment with the id of its message as the last line.

    The mark prevents that Maestro writes the comment twice or imports it as a new comment.
    """
    return f"{text.rstrip()}\n\n[maestro:{message_id}]"


def marked_message_id(text: str) -> str | None:
    """Return the id of the message that a comment was made from; None for a comment without a mark."""
    found = _MARK.fullmatch(text.rstrip().rpartition("\n")[2].strip())
    return found[1] if found else None


def fingerprint_comment(author: str, text: str) -> str:
    """Return the hash that identifies a comment.

    A comment's id may change when the tracker moves to another database.
    """
    return hashlib.sha256(f"{author}\n{text.strip()}".encode("utf-8", "surrogatepass")).hexdigest()[:32]


def title_of_issue(title: str) -> str:
    """Return a tracker's title as the title of a task: one line, of limited length."""
    return " ".join(title.split())[: limits.title_chars_max]


def encode_standing(standing: IssueStanding) -> str:
    """Return a state and its assignee as the text that is stored before Maestro writes to the tracker."""
    return f"{standing.state}:{standing.assignee or ''}"
