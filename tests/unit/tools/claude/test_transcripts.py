"""Usage and text are read from Claude's record file of a conversation."""

from __future__ import annotations

import json
from typing import Any

import pytest

from maestro.tools.claude.transcripts import read_text, read_usage
from maestro.tools.conversation_events import Usage


def answer(name: str, **fields: Any) -> dict[str, Any]:
    usage = {
        "input_tokens": 10,
        "cache_creation_input_tokens": 5,
        "cache_read_input_tokens": 100,
        "output_tokens": 3,
    }
    return {"type": "assistant", "message": {"id": name, "model": "opus", "usage": usage, **fields}}


def piece(*lines: Any) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def test_an_answer_in_several_lines_is_counted_once_with_its_last_usage() -> None:
    last = answer("m1", usage={"input_tokens": 10, "output_tokens": 50})
    assert read_usage(piece(answer("m1"), last)) == Usage(input_tokens=10, output_tokens=50, model="opus")


def test_the_usage_of_several_answers_is_added() -> None:
    found = read_usage(piece(answer("m1"), answer("m2", model="haiku")))
    assert found == Usage(input_tokens=30, output_tokens=6, cached_tokens=200, model="haiku")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        piece({"type": "user", "message": {"content": "hi"}}),
        piece(answer("m1", model="<synthetic>")),
        b'half a "usage" line\n',
        b'["usage"]\n',
        piece({"message": "usage"}, {"message": None, "usage": {}}),
    ],
)
def test_a_record_without_an_answer_of_the_model_has_no_usage(data: bytes) -> None:
    assert read_usage(data) is None


def test_the_text_of_a_record_contains_no_queued_messages() -> None:
    queued = b'{"type":"queue-operation","content":"later"}\n'
    assert read_text(b'{"a": "now"}\n' + queued + b'{"b": "\xff"}\n') == '{"a": "now"}\n{"b": "\ufffd"}'
