"""What a runner tells of a conversation, as it comes over the wire: the happenings of `agents/`, numbered."""

from __future__ import annotations

from dataclasses import asdict

import msgspec

from maestro.tools import happenings


class _Word(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind"):
    n: int  # each is taken in once
    epoch: int = 1


class Began(_Word, frozen=True, kw_only=True, tag="began"):
    conversation: str


class TurnStarted(_Word, frozen=True, kw_only=True, tag="turn_started"):
    pass


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float | None = None
    model: str = ""


def usage_of(found: happenings.Usage) -> Usage:
    """What an agent's program says, as it comes over the wire."""
    return msgspec.convert(asdict(found), Usage)


class TurnEnded(_Word, frozen=True, kw_only=True, tag="turn_ended"):
    usage: Usage | None = None
    problem: str = ""
    interrupted: bool = False


class Asked(_Word, frozen=True, kw_only=True, tag="asked"):
    ask: str
    what: str
    title: str
    text: str
    choices: list[str] = []


class AskGone(_Word, frozen=True, kw_only=True, tag="ask_gone"):
    ask: str


class TakenIn(_Word, frozen=True, kw_only=True, tag="taken_in"):
    prompt: str


class RateLimited(_Word, frozen=True, kw_only=True, tag="rate_limited"):
    until: float | None = None
    detail: str = ""


Word = Began | TurnStarted | TurnEnded | Asked | AskGone | TakenIn | RateLimited
