"""What a conversation with an agent program comes to: small plain values, the same for every tool.

Read by runners, of which there are many: so nothing here, nor in any `conversation.py`, needs more than the standard
library's lightest parts.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from maestro.core import limits

START = "start"  # the id of the prompt that a conversation begins with

PERMISSION, QUESTION = "permission", "question"  # what is asked for
ALLOW, DENY = "allow", "deny"
PUT_ASIDE = ""  # instead of an answer to a question: nobody gives one


@dataclass(frozen=True)
class Began:
    """The tool has a conversation that it could go on with later, under this id of its own; empty: it has none."""

    kind: ClassVar[str] = "began"
    conversation: str


@dataclass(frozen=True)
class TurnStarted:
    """It works."""

    kind: ClassVar[str] = "turn_started"


@dataclass(frozen=True)
class Usage:
    """What a turn took. `cost_usd` only where the tool says so."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float | None = None
    model: str = ""


@dataclass(frozen=True)
class TurnEnded:
    """It waits for whatever it is told next."""

    kind: ClassVar[str] = "turn_ended"
    usage: Usage | None = None
    problem: str = ""  # why it could not go on, in the tool's words
    interrupted: bool = False


@dataclass(frozen=True)
class Said:
    """Text for a person to read, in the transcript: the model's, about a tool call, of the program itself."""

    kind: ClassVar[str] = "said"
    text: str


@dataclass(frozen=True)
class Asked:
    """The tool waits for an answer."""

    kind: ClassVar[str] = "asked"
    ask: str  # the tool's own id of it
    what: str  # a permission or a question
    title: str
    text: str
    choices: tuple[str, ...] = ()
    # For a permission: all that would be done, in words that policies match (`shell:git push`).
    actions: tuple[str, ...] = ()


@dataclass(frozen=True)
class AskGone:
    """It no longer waits for that: it was answered, or has gone on without."""

    kind: ClassVar[str] = "ask_gone"
    ask: str


@dataclass(frozen=True)
class TakenIn:
    """A prompt is in the conversation, and the model has spoken since: the tool says so, not whoever sent it."""

    kind: ClassVar[str] = "taken_in"
    prompt: str


@dataclass(frozen=True)
class RateLimited:
    """The provider takes no more until then (seconds since 1970; None: it did not say)."""

    kind: ClassVar[str] = "rate_limited"
    until: float | None
    detail: str = ""


Happening = Began | TurnStarted | TurnEnded | Said | Asked | AskGone | TakenIn | RateLimited


def as_report(happening: Happening) -> dict[str, Any]:
    """A happening as a runner reports it: in characters that the server can read, and no more than one frame holds.
    What policies match is for them alone."""
    facts = asdict(happening)
    facts.pop("actions", None)
    return {"kind": happening.kind, **{name: _readable(fact) for name, fact in facts.items()}}


def _readable(fact: Any) -> Any:
    if isinstance(fact, str):
        return _cut(fact, limits.runner_word_chars_max)
    if isinstance(fact, tuple):
        return [_cut(str(one), limits.subject_chars_max) for one in fact[: limits.runner_word_items_max]]
    return fact


def _cut(text: str, most: int) -> str:
    text = text if len(text) <= most else f"{text[: most - 1]}…"
    return text.encode("utf-8", "replace").decode()  # half a character may stand alone in JSON, but not here
