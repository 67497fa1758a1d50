"""Events of a conversation with an agent program: small plain values, equal for all tools.

Every runner imports this module, and many runners exist. So this module and every `conversation.py` import only light
parts of the standard library.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from maestro.core import limits

START = "start"  # the id of the first prompt of a conversation

PERMISSION, QUESTION = "permission", "question"  # the kinds of asks
ALLOW, DENY = "allow", "deny"
UNANSWERED = ""  # the answer to a question that the person does not answer


@dataclass(frozen=True)
class ConversationStarted:
    """The tool's id of the conversation, by which the tool can resume it. Empty: no conversation to resume exists."""

    kind: ClassVar[str] = "began"
    conversation: str


@dataclass(frozen=True)
class TurnStarted:
    """A turn has started."""

    kind: ClassVar[str] = "turn_started"


@dataclass(frozen=True)
class Usage:
    """The usage of a turn. `cost_usd` is set only if the tool reports costs."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float | None = None
    model: str = ""


@dataclass(frozen=True)
class TurnEnded:
    """A turn has ended; the program waits for the next prompt."""

    kind: ClassVar[str] = "turn_ended"
    usage: Usage | None = None
    problem: str = ""  # the error that ended the turn, in the tool's words
    interrupted: bool = False


@dataclass(frozen=True)
class TranscriptText:
    """A text for the transcript: an answer of the model, a tool call, or a message of the program."""

    kind: ClassVar[str] = "said"
    text: str


@dataclass(frozen=True)
class AskOpened:
    """The tool opens an ask and waits for the answer."""

    kind: ClassVar[str] = "asked"
    ask: str  # the tool's own id of the ask
    what: str  # PERMISSION or QUESTION
    title: str
    text: str
    choices: tuple[str, ...] = ()
    # For a permission: all actions of the tool call, in the form that policies match (`shell:git push`).
    actions: tuple[str, ...] = ()


@dataclass(frozen=True)
class AskWithdrawn:
    """The tool no longer waits for the ask: the ask is answered, or the tool continues without an answer."""

    kind: ClassVar[str] = "ask_gone"
    ask: str


@dataclass(frozen=True)
class PushConfirmed:
    """The model has read a prompt: the prompt is in the conversation, and the model has produced output since."""

    kind: ClassVar[str] = "taken_in"
    prompt: str


@dataclass(frozen=True)
class RateLimited:
    """The provider refuses requests until this time (seconds since 1970; None: unknown)."""

    kind: ClassVar[str] = "rate_limited"
    until: float | None
    detail: str = ""


ConversationEvent = (
    ConversationStarted
    | TurnStarted
    | TurnEnded
    | TranscriptText
    | AskOpened
    | AskWithdrawn
    | PushConfirmed
    | RateLimited
)


def encode_event(event: ConversationEvent) -> dict[str, Any]:
    """Return an event as a runner reports it: with valid characters, and small enough for one frame. Field names are
    part of the report. `actions` are left out: only the runner's policy needs them."""
    fields = asdict(event)
    fields.pop("actions", None)
    return {"kind": event.kind, **{name: _reported_value(value) for name, value in fields.items()}}


def _reported_value(value: Any) -> Any:
    if isinstance(value, str):
        return _cut_text(value, limits.runner_event_text_chars_max)
    if isinstance(value, tuple):
        return [_cut_text(str(item), limits.subject_chars_max) for item in value[: limits.runner_event_items_max]]
    return value


def _cut_text(text: str, chars_max: int) -> str:
    text = text if len(text) <= chars_max else f"{text[: chars_max - 1]}…"
    return text.encode("utf-8", "replace").decode()  # JSON allows a single surrogate, UTF-8 does not
