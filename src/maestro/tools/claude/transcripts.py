"""Claude's record file of a conversation: a line of JSON per message, appended."""

from __future__ import annotations

import json
from typing import Any

from maestro.tools.conversation_events import Usage

_QUEUED = b'"type":"queue-operation"'
_NO_MODEL = "<synthetic>"


def read_usage(piece: bytes) -> Usage | None:
    """Return the model's usage from a piece of the file, or None if the piece has no usage.

    An answer of several blocks has several lines, each with the usage of the whole answer: the last line counts.
    """
    answers: dict[str, dict[str, Any]] = {}
    for line in piece.splitlines():
        if b'"usage"' not in line:
            continue
        try:
            message = json.loads(line).get("message") or {}
        except (ValueError, AttributeError):
            continue
        if isinstance(message, dict) and message.get("usage") and message.get("model") != _NO_MODEL:
            answers[str(message.get("id"))] = message
    if not answers:
        return None
    return Usage(
        input_tokens=_sum_usage(answers, "input_tokens") + _sum_usage(answers, "cache_creation_input_tokens"),
        output_tokens=_sum_usage(answers, "output_tokens"),
        cached_tokens=_sum_usage(answers, "cache_read_input_tokens"),
        model=str(next(reversed(answers.values())).get("model") or ""),
    )


def read_text(piece: bytes) -> str:
    """Return the text of a piece of the file, without queued messages, which are not yet in the conversation."""
    lines = [line for line in piece.splitlines() if _QUEUED not in line]
    return b"\n".join(lines).decode("utf-8", "replace")


def _sum_usage(answers: dict[str, dict[str, Any]], name: str) -> int:
    return sum(int(answer["usage"].get(name) or 0) for answer in answers.values())
