"""Conversations with agent programs: the state of each, its pending push, and the session's usage."""

from __future__ import annotations

import enum
from datetime import datetime, timedelta

import msgspec

from maestro.core import limits

_ATTEMPT_MARK = "."  # between the id of a push and the number of the attempt; no id contains a dot


class TurnState(enum.StrEnum):
    """The state of a conversation's turn."""

    NONE = "none"  # the program does not run, or has not begun
    WORKING = "working"
    ASKING = "asking"  # the program waits for the answer to an ask
    IDLE = "idle"  # the program waits for the next push


class DriverKind(enum.StrEnum):
    """How Maestro communicates with an agent program."""

    PROTOCOL = "protocol"  # structured messages over the program's pipes
    TERMINAL = "terminal"  # a terminal of the program, to which the person can attach


class StateReporter(enum.StrEnum):
    """The component that reports the state of a conversation."""

    NONE = "nobody"  # Maestro has no conversation with the program
    RUNNER = "runner"  # the runner uses the program's protocol
    HOOKS = "hooks"  # the program's own hooks


class AskPolicy(enum.StrEnum):
    """What happens to permission requests that no pattern allows."""

    ASK = "ask"
    DENY = "deny"


class ReminderState(enum.IntEnum):
    """Whether Maestro reminded an agent that stopped and still holds tasks without a report."""

    NOT_REMINDED = 0
    ONCE = 1
    IGNORED = 2  # the agent stopped again, and its coordinator knows


class SessionConversation(msgspec.Struct, frozen=True, kw_only=True):
    """The conversation of one session."""

    session_id: str
    driver: DriverKind
    state_reporter: StateReporter
    allow: list[str]
    ask_policy: AskPolicy
    tool_conversation_id: str | None  # the tool's own id of the conversation, with which the tool can resume it
    turn: TurnState
    turn_at: datetime  # the time of the last report about the turn
    epoch: int  # the session's start from which the last event came
    last_event_number: int  # the number of the last event; with hooks, how far the record file was read
    parked_until: datetime | None  # the end of the provider's rate limit
    reminded: ReminderState
    record_file: str | None  # the program's record file, if a hook has named it


class ToolAsk(msgspec.Struct, frozen=True):
    """An ask to the person whose answer a tool waits for."""

    ask_id: str
    session_id: str
    epoch: int
    asked_as: str


class PendingPush(msgspec.Struct, frozen=True, kw_only=True):
    """A push of mail to an idle agent that the model is not yet known to have received."""

    session_id: str
    id: str  # the same for all attempts to push this mail; each attempt has its own name, see `push_attempt_name`
    receipt: str
    attempts: int
    pushed_at: datetime
    given_up: bool = False


class SessionUsage(msgspec.Struct, frozen=True, kw_only=True):
    """The usage of a session while it held one task, or no task."""

    session_id: str
    task_id: str | None
    turns: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    cost_usd: float | None


class PushDecision(enum.StrEnum):
    """The decision about a push to an idle agent that has unread mail."""

    PUSH = "push"
    WAIT = "wait"
    GIVE_UP = "give_up"


def decide_push(pending: PendingPush | None, at: datetime) -> PushDecision:
    """Return whether to push mail now.

    At most one push is pending; an unconfirmed push is repeated within a limit.
    """
    if pending is None:
        return PushDecision.PUSH
    if pending.given_up or at < push_retry_at(pending):
        return PushDecision.WAIT
    return PushDecision.PUSH if pending.attempts < limits.push_attempts_max else PushDecision.GIVE_UP


def push_attempt_name(push: PendingPush) -> str:
    """Return the name of the present attempt of a push.

    Each attempt has another name, because the runner ignores a name that it has seen.
    """
    return push.id if push.attempts == 1 else f"{push.id}{_ATTEMPT_MARK}{push.attempts}"


def is_attempt_of_push(push: PendingPush, name: str) -> bool:
    """Return whether a name belongs to a push.

    Names of earlier attempts count too, because an earlier attempt may have reached the model late.
    """
    return name.partition(_ATTEMPT_MARK)[0] == push.id


def push_retry_at(push: PendingPush) -> datetime:
    """Return when to decide again about an unconfirmed push."""
    return push.pushed_at + timedelta(seconds=limits.push_confirm_seconds)
