"""Usage is read from Gemini's record file of a conversation."""

from __future__ import annotations

import json

from maestro.tools.conversation_events import Usage
from maestro.tools.gemini.records import read_usage


def test_the_usage_of_each_answer_is_counted_once() -> None:
    first = {"id": "m1", "type": "gemini", "model": "pro", "tokens": {"input": 9, "output": 4, "cached": 2}}
    again = {**first, "toolCalls": [{}]}
    second = {"id": "m2", "type": "gemini", "tokens": {"input": 10, "output": 5, "thoughts": 1}, "model": "pro"}
    lines = [{"id": "u1", "type": "user"}, first, again, second, {"$set": {"summary": "tokens"}}, {"tokens": "none"}]
    kept = b"".join(json.dumps(line).encode() + b"\n" for line in lines) + b'half a "tokens" line\n'
    usage = read_usage(kept)
    assert usage == Usage(input_tokens=17, output_tokens=10, cached_tokens=2, model="pro")
    assert read_usage(b"") is None


def test_a_record_without_tokens_has_no_usage() -> None:
    assert read_usage(b'{"id": "m1", "type": "gemini"}\n') is None
    assert read_usage(b'["tokens"]\n{"tokens": null}\n') is None
