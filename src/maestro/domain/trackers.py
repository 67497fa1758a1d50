"""A tracker beside Maestro: which one a project has, where its issues stand in it, and how a task follows. Pure.

The tracker's word wins: what changed there is projected on the task, and only what has not changed there is told.
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
    """Where a project's issues live."""

    BUILTIN = "builtin"  # in Maestro itself
    BEADS = "beads"  # in Beads, through its program `bd`


class State(enum.StrEnum):
    """Where an issue stands, in the few words that every tracker has."""

    OPEN = "open"
    STARTED = "started"
    BLOCKED = "blocked"
    CLOSED = "closed"


class Stand(msgspec.Struct, frozen=True):
    """Where an issue stands, and with whom."""

    state: State
    who: str | None = None


class Step(enum.Enum):
    """What is done to an issue in its tracker so that it stands as its task does."""

    CLAIM = "claim"
    RELEASE = "release"
    BLOCK = "block"
    CLOSE = "close"
    REOPEN = "reopen"


class Choice(msgspec.Struct, frozen=True):
    """The tracker that a project has, and how far Maestro and it are in step."""

    project_id: str
    kind: Kind
    path: str  # the checkout that it is in
    source: Source
    cursor: int = 0  # the place in the log up to which has been looked at
    version: str = ""
    looked_at: datetime | None = None  # when it was last read whole
    ok_at: datetime | None = None  # when all that was to be done was done
    due_at: datetime | None = None  # not before then
    failures: int = 0
    problem: str = ""


class Mirror(msgspec.Struct, frozen=True):
    """An issue here and in the tracker, and what each has heard of the other."""

    task_id: str
    project_id: str
    ref: str | None = None  # its id in the tracker; none until it is there
    state: State | None = None  # as the tracker said last
    who: str | None = None
    title: str = ""
    stamp: str = ""  # changes whenever it may have changed there
    dirty: bool = True  # something here is still to be told
    trying: bool = False  # its making was begun, and nobody has seen how it came out
    telling: str = ""  # the stand that is being told: found there, it is no news
    said_seq: int = 0  # the last message of its conversation that was looked at
    problem: str = ""  # why the tracker does not take it
    failures: int = 0
    retry_at: datetime | None = None


OUTSIDE = "tracker:"  # before the name of someone whom only a tracker knows
_MARK = re.compile(r"\[maestro:(msg_[0-9a-z]+)\]")
_REF = "maestro:"


def is_outside(name: str | None) -> bool:
    """Whether only a tracker knows who that is."""
    return name is not None and name.startswith(OUTSIDE)


def outside(who: str | None) -> str:
    """How someone whom only the tracker knows stands on records."""
    return OUTSIDE + (who or "someone")


def chosen(texts: Mapping[Source, str], wrong: list[str]) -> tuple[Kind, Source] | None:
    """What a checkout's files say about its tracker, the local one over the committed one."""
    for source in (Source.LOCAL, Source.CONFIG):
        try:
            said = bounded_toml.parse(texts.get(source, "")).get("tracker")
        except bounded_toml.Unreadable:
            continue  # said elsewhere
        if said is None:
            continue
        kind = said.get("kind") if isinstance(said, dict) else None
        try:
            return msgspec.convert(kind, Kind), source
        except msgspec.ValidationError:
            wrong.append(f"{source.value}: [tracker] kind is one of {', '.join(Kind)}.")
    return None


def stand_of(task: Task) -> State:
    """Where a task stands in a tracker's words."""
    if task.status in FINAL:
        return State.CLOSED
    return {Status.TODO: State.OPEN, Status.BLOCKED: State.BLOCKED}.get(task.status, State.STARTED)


def next_step(task: Task, seen: Stand, *, actor: str | None) -> Step | None:
    """The next thing to do in the tracker; none once it says what the task says. `actor`: its holder's name there."""
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
    """The next move of a task towards where its tracker has it; none once it is there.

    `holder`, for as long as `lease_seconds`: who has it, or who ends it.
    """

    def start() -> Move:
        return tasks.start(task, holder=holder, lease_seconds=lease_seconds, at=at)

    status = task.status
    if wanted is State.CLOSED:
        if status in FINAL:
            return None
        if status is Status.TODO:
            return start()
        return _unblocked(task, at) or tasks.complete(task, accepted=True, at=at)
    if status in FINAL:
        return tasks.reopen(task, at=at)
    if wanted is State.BLOCKED:
        if status is Status.BLOCKED:
            return None
        return _back(task, reason, at) or tasks.block(task, reason=reason, at=at)
    if wanted is State.STARTED:
        if task.holder == holder and status in (Status.IN_PROGRESS, Status.IN_REVIEW):
            return None
        if status is Status.TODO:
            return start()
    elif status is Status.TODO:
        return None
    return _unblocked(task, at) or _back(task, reason, at) or tasks.release(task, at=at)


def _unblocked(task: Task, at: datetime) -> Move | None:
    return tasks.unblock(task, at=at) if task.status is Status.BLOCKED else None


def _back(task: Task, reason: str, at: datetime) -> Move | None:
    return tasks.reject(task, reason=reason, at=at) if task.status is Status.IN_REVIEW else None


def outside_ref(task_id: str) -> str:
    """What an issue carries in its tracker, so that it is found again if nobody saw it being made."""
    return f"{_REF}{task_id}"


def task_in(outside_ref: str) -> str | None:
    """The task that an issue of a tracker was made for."""
    return outside_ref.removeprefix(_REF) if outside_ref.startswith(f"{_REF}tsk_") else None


def marked(text: str, message_id: str) -> str:
    """A comment with the id of its message as its last line: so it is never written twice, nor taken for news."""
    return f"{text.rstrip()}\n\n[maestro:{message_id}]"


def message_in(text: str) -> str | None:
    """The message that a comment was made of."""
    found = _MARK.fullmatch(text.rstrip().rpartition("\n")[2].strip())
    return found[1] if found else None


def fingerprint(author: str, text: str) -> str:
    """What a comment is known by. Its id in the tracker may change when that moves to another database."""
    return hashlib.sha256(f"{author}\n{text.strip()}".encode("utf-8", "surrogatepass")).hexdigest()[:32]


def one_line(title: str) -> str:
    """A tracker's title as a task has it."""
    return " ".join(title.split())[: limits.title_chars_max]


def told(stand: Stand) -> str:
    """A stand as it is written down before it is told."""
    return f"{stand.state}:{stand.who or ''}"
