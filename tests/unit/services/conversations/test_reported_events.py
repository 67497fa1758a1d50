"""The server decodes every event of a conversation that a runner encodes, with all its fields."""

from __future__ import annotations

import dataclasses
import typing
from typing import Any

import msgspec
import pytest

from maestro.services.conversations import reported_events
from maestro.services.supervision import runner_reports
from maestro.tools import conversation_events
from maestro.tools.conversation_events import ConversationEvent, TranscriptText, Usage

# A runner shows a transcript text and does not report it.
REPORTED = [kind for kind in typing.get_args(ConversationEvent) if kind is not TranscriptText]
USAGE = Usage(input_tokens=1, output_tokens=2, cached_tokens=3, cost_usd=0.5, model="x")
VALUES = {str: "text", bool: True, float | None: 7.5, tuple[str, ...]: ("a", "b"), Usage | None: USAGE}


def make_event(kind: type[Any]) -> Any:
    """Return an event in which every field differs from its default."""
    types = typing.get_type_hints(kind, vars(conversation_events))
    return kind(**{field.name: VALUES[types[field.name]] for field in dataclasses.fields(kind)})


@pytest.mark.parametrize("kind", REPORTED)
def test_the_server_decodes_every_field_of_an_encoded_event(kind: type[Any]) -> None:
    report = conversation_events.encode_event(make_event(kind))
    decoded = runner_reports.decode_report({**report, "n": 3, "epoch": 2})
    assert decoded is not None
    assert msgspec.to_builtins(decoded) == {**report, "n": 3, "epoch": 2}


def test_runner_and_server_know_the_same_kinds_of_events() -> None:
    decoded = {kind.__struct_config__.tag for kind in typing.get_args(reported_events.RunnerEvent)}
    assert decoded == {kind.kind for kind in REPORTED}
