"""The API generateContent, complete and streamed, as far as Gemini CLI uses it.

A model that is told to keep a command running in the background starts the command before any other answer, and again
after the command has ended. Such a call does not count as an answer of the script.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from typing import Any

from scripted_model.conversation import Call, Say, Seen, text_of

_SHELL = "run_shell_command"
_TOLD = re.compile(rf"{_SHELL} with command `([^`]+)` and is_background true")
_ENDED = "[Background command completed"


def read(body: dict[str, Any], model: str) -> Seen:
    contents = body.get("contents", [])
    by_model = [place for place, content in enumerate(contents) if content.get("role") == "model"]
    started = [place for place in by_model if _is_start(contents[place])]
    answers = [place for place in by_model if place not in started]
    declared = [one for tool in body.get("tools") or [] for one in tool.get("functionDeclarations", [])]
    tools = tuple(one["name"] for one in declared)
    return Seen(
        model=model,
        turn=len(answers),
        system=text_of(body.get("systemInstruction")),
        newest=text_of(contents[answers[-1] + 1 if answers else 0 :]),
        tools=tools,
        body=body,
        is_aside=not tools,
        starts=_due(text_of(contents), len(started)),
    )


def _is_start(content: dict[str, Any]) -> bool:
    calls = [part["functionCall"] for part in content.get("parts", ()) if "functionCall" in part]
    return any(call["name"] == _SHELL and call.get("args", {}).get("is_background") for call in calls)


def _due(said: str, started: int) -> str:
    """Return the command that the model should start now, or an empty text."""
    told = _TOLD.findall(said)
    return str(told[-1]) if told and len(told) + said.count(_ENDED) > started else ""


def start(seen: Seen) -> Call:
    return Call(_SHELL, {"command": seen.starts, "is_background": True})


def whole(seen: Seen, answer: Say | Call) -> dict[str, Any]:
    part: dict[str, Any]
    if isinstance(answer, Say):
        part = {"text": answer.text}
    else:
        part = {"functionCall": {"name": answer.tool, "args": dict(answer.arguments)}}
    return {
        "candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 20, "totalTokenCount": 30},
        "modelVersion": seen.model,
        "responseId": uuid.uuid4().hex,
    }


def events(seen: Seen, answer: Say | Call) -> Iterator[dict[str, Any]]:
    yield whole(seen, answer)
