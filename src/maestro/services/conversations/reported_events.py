"""The events of a conversation as a runner reports them over the wire: the events of `tools/`, each with a number."""

from __future__ import annotations

from dataclasses import asdict

import msgspec

from maestro.tools import conversation_events


class _NumberedEvent(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind"):
    n: int  # the event's number: the server applies each number once
    epoch: int = 1


class BeganEvent(_NumberedEvent, frozen=True, kw_only=True, tag="began"):
    conversation: str


class TurnStartedEvent(_NumberedEvent, frozen=True, kw_only=True, tag="turn_started"):
    pass


class ReportedUsage(msgspec.Struct, frozen=True, kw_only=True):
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float | None = None
    model: str = ""


def usage_of(usage: conversation_events.Usage) -> ReportedUsage:
    """Return a program's usage in the form of the wire."""
    return msgspec.convert(asdict(usage), ReportedUsage)


class TurnEndedEvent(_NumberedEvent, frozen=True, kw_only=True, tag="turn_ended"):
    usage: ReportedUsage | None = None
    problem: str = ""
    interrupted: bool = False


class AskedEvent(_NumberedEvent, frozen=True, kw_only=True, tag="asked"):
    ask: str
    what: str
    title: str
    text: str
    choices: list[str] = []


class AskGoneEvent(_NumberedEvent, frozen=True, kw_only=True, tag="ask_gone"):
    ask: str


class PushConfirmedEvent(_NumberedEvent, frozen=True, kw_only=True, tag="taken_in"):
    prompt: str


class RateLimitedEvent(_NumberedEvent, frozen=True, kw_only=True, tag="rate_limited"):
    until: float | None = None
    detail: str = ""


RunnerEvent = (
    BeganEvent | TurnStartedEvent | TurnEndedEvent | AskedEvent | AskGoneEvent | PushConfirmedEvent | RateLimitedEvent
)
