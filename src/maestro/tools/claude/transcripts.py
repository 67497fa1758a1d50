"""The file in which Claude keeps a conversation: a line of JSON per thing said, appended."""

from __future__ import annotations

import json
from typing import Any

from maestro.tools.happenings import Usage

_WAITS = b'"type":"queue-operation"'
_NO_MODEL = "<synthetic>"


def used(kept: bytes) -> Usage | None:
    """What the model took, by a piece of the file; None if it says nothing of that.

    An answer of several blocks is kept in several lines, each with the usage of all of it: the last one counts.
    """
    answers: dict[str, dict[str, Any]] = {}
    for line in kept.splitlines():
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
        input_tokens=_sum(answers, "input_tokens") + _sum(answers, "cache_creation_input_tokens"),
        output_tokens=_sum(answers, "output_tokens"),
        cached_tokens=_sum(answers, "cache_read_input_tokens"),
        model=str(next(reversed(answers.values())).get("model") or ""),
    )


def said(kept: bytes) -> str:
    """All that is in the conversation by it: not what only waits to be taken up."""
    lines = [line for line in kept.splitlines() if _WAITS not in line]
    return b"\n".join(lines).decode("utf-8", "replace")


def _sum(answers: dict[str, dict[str, Any]], name: str) -> int:
    return sum(int(one["usage"].get(name) or 0) for one in answers.values())
