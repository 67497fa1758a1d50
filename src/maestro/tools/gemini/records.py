"""The file in which gemini keeps a talk: a line of JSON per thing said, and again when more of it is known."""

from __future__ import annotations

import json
from typing import Any

from maestro.tools.happenings import Usage


def used(kept: bytes) -> Usage | None:
    """What the model took, by a piece of the file; None if it says nothing of that."""
    answers: dict[str, dict[str, Any]] = {}
    for line in kept.splitlines():
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
    cached = _sum(answers, "cached")
    return Usage(
        input_tokens=_sum(answers, "input") - cached,
        output_tokens=_sum(answers, "output") + _sum(answers, "thoughts"),
        cached_tokens=cached,
        model=str(next(reversed(answers.values())).get("model") or ""),
    )


def _sum(answers: dict[str, dict[str, Any]], name: str) -> int:
    return sum(int(one["tokens"].get(name) or 0) for one in answers.values())
