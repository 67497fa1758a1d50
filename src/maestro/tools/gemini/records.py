"""Gemini's record file of a conversation: a line of JSON per message, repeated when a message changes."""

from __future__ import annotations

import json
from typing import Any

from maestro.tools.conversation_events import Usage


def read_usage(piece: bytes) -> Usage | None:
    """Return the model's usage from a piece of the file, or None if the piece has no usage."""
    answers: dict[str, dict[str, Any]] = {}
    for line in piece.splitlines():
        if b'"tokens"' not in line:
            continue
        try:
            message = json.loads(line)
        except ValueError:
            continue
        if isinstance(message, dict) and isinstance(message.get("tokens"), dict):
            answers[str(message.get("id"))] = message
    if not answers:
        return None
    cached = _sum_tokens(answers, "cached")
    return Usage(
        input_tokens=_sum_tokens(answers, "input") - cached,
        output_tokens=_sum_tokens(answers, "output") + _sum_tokens(answers, "thoughts"),
        cached_tokens=cached,
        model=str(next(reversed(answers.values())).get("model") or ""),
    )


def _sum_tokens(answers: dict[str, dict[str, Any]], name: str) -> int:
    return sum(int(answer["tokens"].get(name) or 0) for answer in answers.values())
