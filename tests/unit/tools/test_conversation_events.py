"""The server can read each conversation event of a runner, also with invalid or very long texts."""

from __future__ import annotations

import json

import msgspec
import pytest

from maestro.core import limits
from maestro.services.conversations import reported_events
from maestro.services.supervision import runner_reports
from maestro.tools.conversation_events import AskOpened, TurnEnded, Usage, encode_event
from maestro.wire import frames

HALF = "\ud83d"  # half a character: a program may cut a text anywhere, and JSON can encode the half


def reported(happening: AskOpened | TurnEnded) -> object:
    told = json.dumps({**encode_event(happening), "n": 1, "epoch": 1})
    assert len(told) < frames.PAYLOAD_BYTES_MAX - 4_096
    return msgspec.json.decode(told, type=runner_reports.RunnerMessage)


def test_half_a_character_in_an_event_is_replaced() -> None:
    told = reported(AskOpened("a1", "permission", f"Bash: {HALF}", f"x{HALF}y", (f"{HALF}yes",)))
    assert told == reported_events.AskedEvent(
        n=1, ask="a1", what="permission", title="Bash: ?", text="x?y", choices=["?yes"]
    )
    assert reported(TurnEnded(Usage(input_tokens=3), problem=HALF)) == reported_events.TurnEndedEvent(
        n=1, usage=reported_events.ReportedUsage(input_tokens=3), problem="?"
    )


@pytest.mark.parametrize("text", ["x", "é", "🙂"])
def test_long_texts_of_an_event_are_cut_to_fit_into_a_frame(text: str) -> None:
    long = text * 1_200_000
    told = reported(AskOpened("a1", "question", long, long, (long,) * 100, actions=(f"shell:{long}",)))
    assert isinstance(told, reported_events.AskedEvent)
    assert (len(told.text), told.text[-1]) == (limits.runner_event_text_chars_max, "…")
    assert len(told.choices) == limits.runner_event_items_max
