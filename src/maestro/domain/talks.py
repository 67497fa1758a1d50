"""Conversations with agent programs: where each stands, what wakes it, what it has taken."""

from __future__ import annotations

import enum
from datetime import datetime, timedelta

import msgspec

from maestro.core import limits

_TIME = "."  # between the id of a push and which time it is; no id has one


class Turn(enum.StrEnum):
    """Whose turn it is."""

    NONE = "none"  # its program does not run, or has not begun
    WORKING = "working"
    ASKING = "asking"  # it waits for an answer to what it asked
    IDLE = "idle"  # it waits for whatever it is told next


class Driver(enum.StrEnum):
    """How Maestro speaks with an agent program."""

    PROTOCOL = "protocol"  # structured messages over its pipes
    TERMINAL = "terminal"  # its own terminal, which a person can attach to


class Teller(enum.StrEnum):
    """Who tells how a conversation stands."""

    NOBODY = "nobody"  # then there is no conversation, only a program
    RUNNER = "runner"  # it speaks the program's protocol
    HOOKS = "hooks"  # the program's own


class Rest(enum.StrEnum):
    """What becomes of permissions that no pattern allows."""

    ASK = "ask"
    DENY = "deny"


class Reminded(enum.IntEnum):
    """Whether an agent that stopped was told that it holds tasks it has not reported on."""

    NOT = 0
    ONCE = 1
    IN_VAIN = 2  # whoever leads it knows


class Talk(msgspec.Struct, frozen=True, kw_only=True):
    """One session's conversation."""

    session_id: str
    driver: Driver
    teller: Teller
    allow: list[str]
    rest: Rest
    conversation: str | None  # what the tool itself calls it: with that it can go on later
    turn: Turn
    turn_at: datetime  # when that was said last
    epoch: int  # which start of the session was last heard
    heard: int  # the number of its last word; where hooks tell, how far its program's record was read
    parked_until: datetime | None  # its provider takes no more until then
    reminded: Reminded
    record: str | None  # the file that its program keeps, as far as hooks have told of one


class ToolAsk(msgspec.Struct, frozen=True):
    """A request to the person that a tool waits for."""

    ask_id: str
    session_id: str
    epoch: int
    asked_as: str


class Wake(msgspec.Struct, frozen=True, kw_only=True):
    """Mail that was pushed to an idle agent, and is not yet known to have come to its model."""

    session_id: str
    id: str  # the same each time that this mail is pushed; under what it is said, see `said_as`
    receipt: str
    tries: int
    pushed_at: datetime
    given_up: bool = False


class Used(msgspec.Struct, frozen=True, kw_only=True):
    """What a session has taken, while it held a task or none."""

    session_id: str
    task_id: str | None
    turns: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    cost_usd: float | None


class Next(enum.StrEnum):
    """What is to be done for an idle agent that has unread mail."""

    PUSH = "push"
    WAIT = "wait"
    GIVE_UP = "give_up"


def next_wake(known: Wake | None, at: datetime) -> Next:
    """One push at a time; the same again if it has not come in, within a limit."""
    if known is None:
        return Next.PUSH
    if known.given_up or at < wake_due(known):
        return Next.WAIT
    return Next.PUSH if known.tries < limits.wake_tries_max else Next.GIVE_UP


def said_as(wake: Wake) -> str:
    """What a push is called where it is said: another each time, since the same would not be said again."""
    return wake.id if wake.tries == 1 else f"{wake.id}{_TIME}{wake.tries}"


def is_said_as(wake: Wake, name: str) -> bool:
    """Whether this is the push of a name, or an earlier one of the same mail: that may have come in after all."""
    return name.partition(_TIME)[0] == wake.id


def wake_due(known: Wake) -> datetime:
    """When a push that has not come in is thought of again."""
    return known.pushed_at + timedelta(seconds=limits.wake_confirm_seconds)
