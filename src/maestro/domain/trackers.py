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
from maestro.domain.links import Source
from maestro.domain.tasks import FINAL, Move, Status, Task
from maestro.text import bounded_toml


class Kind(enum.StrEnum):
    """The tracker that keeps a project's issues."""

    BUILTIN = "builtin"  # in Maestro itself
    BEADS = "beads"  # in Beads, through its program `bd`


class State(enum.StrEnum):
    """The state of an issue, in the terms that all trackers share."""

    OPEN = "open"
    STARTED = "started"
    BLOCKED = "blocked"
    CLOSED = "closed"


class Stand(msgspec.Struct, frozen=True):
    """The state of an issue and its assignee in the tracker."""

    state: State
    who: str | None = None


class Step(enum.Enum):
    """An action on an issue in the tracker, with which the issue follows the task."""

    CLAIM = "claim"
    RELEASE = "release"
    BLOCK = "block"
    CLOSE = "close"
    REOPEN = "reopen"


class Choice(msgspec.Struct, frozen=True):
    """The tracker of a project, and the progress of the synchronisation with it."""

    project_id: str
    kind: Kind
    path: str  # the checkout that contains the tracker
    source: Source
    cursor: int = 0  # the sequence number of the last event that was handled
    version: str = ""
    looked_at: datetime | None = None  # the time when the whole tracker was last read
    ok_at: datetime | None = None  # the time of the last round without a failure
    due_at: datetime | None = None  # the earliest time of the next round
    failures: int = 0
    problem: str = ""


class Mirror(msgspec.Struct, frozen=True):
    """An issue in Maestro and in the tracker, and the state of its synchronisation."""

    task_id: str
    project_id: str
    ref: str | None = None  # the id in the tracker; None until the issue exists there
    state: State | None = None  # the last state that the tracker reported
    who: str | None = None
    title: str = ""
    stamp: str = ""  # differs after each possible change in the tracker
    dirty: bool = True  # Maestro has changes that the tracker does not have yet
    trying: bool = False  # Maestro began to create the issue, and the result is not known
    telling: str = ""  # the state that Maestro is writing: a state read back from the tracker is no change
    said_seq: int = 0  # the last message of the thread that was handled
    problem: str = ""  # why the tracker refuses the issue
    failures: int = 0
    retry_at: datetime | None = None


OUTSIDE = "tracker:"  # stands before the name of a person that only a tracker knows
_MARK = re.compile(r"\[maestro:(msg_[0-9a-z]+)\]")
_REF_PREFIX = "maestro:"


def is_outside(name: str | None) -> bool:
    """Return whether a name belongs to a person that only a tracker knows."""
    return name is not None and name.startswith(OUTSIDE)


def outside(who: str | None) -> str:
    """Return the name, for records, of a person that only a tracker knows."""
    return OUTSIDE + (who or "someone")


def chosen(texts: Mapping[Source, str], wrong: list[str]) -> tuple[Kind, Source] | None:
    """Return the tracker that a checkout's settings files name. The local file counts more than the committed one."""
    for source in (Source.LOCAL, Source.CONFIG):
        try:
            table = bounded_toml.parse(texts.get(source, "")).get("tracker")
        except bounded_toml.Unreadable:
            continue  # `links.read_entries` reports the file
        if table is None:
            continue
        kind = table.get("kind") if isinstance(table, dict) else None
        try:
            return msgspec.convert(kind, Kind), source
        except msgspec.ValidationError:
            wrong.append(f"{source.value}: [tracker] kind is not valid. Use one of: {', '.join(Kind)}.")
    return None


def stand_of(task: Task) -> State:
    """Return the state that a task's issue should have in the tracker."""
    if task.status in FINAL:
        return State.CLOSED
    return {Status.TODO: State.OPEN, Status.BLOCKED: State.BLOCKED}.get(task.status, State.STARTED)


def next_step(task: Task, seen: Stand, *, actor: str | None) -> Step | None:
    """Return the next action in the tracker; None if the issue agrees with its task.

    `actor` is the name of the task's holder in the tracker.
    """
    wanted = stand_of(task)
    if wanted is State.CLOSED:
        return None if seen.state is State.CLOSED else Step.CLOSE
    if seen.state is State.CLOSED:
        return Step.REOPEN
    if wanted is State.STARTED:
        if seen.state is State.STARTED and seen.who == actor:
            return None
        return Step.CLAIM if seen.state is State.OPEN else Step.RELEASE
    if wanted is seen.state:
        return None
    return Step.BLOCK if wanted is State.BLOCKED else Step.RELEASE


def next_move(
    task: Task, wanted: State, *, holder: str, lease_seconds: int | None, reason: str, at: datetime
) -> Move | None:
    """Return the next move of a task towards the state of its issue; None if the task agrees.

    `holder` gets the claim for `lease_seconds`, also for a task that the move will complete.
    """

    def start() -> Move:
        return tasks.start(task, holder=holder, lease_seconds=lease_seconds, at=at)

    status = task.status
    if wanted is State.CLOSED:
        if status in FINAL:
            return None
        if status is Status.TODO:
            return start()
        return _unblock(task, at) or tasks.complete(task, accepted=True, at=at)
    if status in FINAL:
        return tasks.reopen(task, at=at)
    if wanted is State.BLOCKED:
        if status is Status.BLOCKED:
            return None
        return _reject(task, reason, at) or tasks.block(task, reason=reason, at=at)
    if wanted is State.STARTED:
        if task.holder == holder and status in (Status.IN_PROGRESS, Status.IN_REVIEW):
            return None
        if status is Status.TODO:
            return start()
    elif status is Status.TODO:
        return None
    return _unblock(task, at) or _reject(task, reason, at) or tasks.release(task, at=at)


def _unblock(task: Task, at: datetime) -> Move | None:
    return tasks.unblock(task, at=at) if task.status is Status.BLOCKED else None


def _reject(task: Task, reason: str, at: datetime) -> Move | None:
    return tasks.reject(task, reason=reason, at=at) if task.status is Status.IN_REVIEW else None


def outside_ref(task_id: str) -> str:
    """Return the reference that an issue carries in its tracker.

    With the reference Maestro finds the issue again if it did not see the result of the creation.
    """
    return f"{_REF_PREFIX}{task_id}"


def task_in(outside_ref: str) -> str | None:
    """Return the id of the task for which Maestro created an issue; None for a foreign reference."""
    return outside_ref.removeprefix(_REF_PREFIX) if outside_ref.startswith(f"{_REF_PREFIX}tsk_") else None


def marked(text: str, message_id: str) -> str:
    """Return a comment with the id of its message as the last line.

    The mark prevents that Maestro writes the comment twice or imports it as a new comment.
    """
    return f"{text.rstrip()}\n\n[maestro:{message_id}]"


def message_in(text: str) -> str | None:
    """Return the id of the message that a comment was made from; None for a comment without a mark."""
    found = _MARK.fullmatch(text.rstrip().rpartition("\n")[2].strip())
    return found[1] if found else None


def fingerprint(author: str, text: str) -> str:
    """Return the hash that identifies a comment.

    A comment's id may change when the tracker moves to another database.
    """
    return hashlib.sha256(f"{author}\n{text.strip()}".encode("utf-8", "surrogatepass")).hexdigest()[:32]


def one_line(title: str) -> str:
    """Return a tracker's title as the title of a task: one line, of limited length."""
    return " ".join(title.split())[: limits.title_chars_max]


def told(stand: Stand) -> str:
    """Return a state and its assignee as the text that is stored before Maestro writes to the tracker."""
    return f"{stand.state}:{stand.who or ''}"
