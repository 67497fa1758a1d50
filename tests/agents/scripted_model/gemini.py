"""generateContent, whole and in a stream, as Gemini CLI uses it."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

from scripted_model.conversation import Call, Say, Seen, text_of


def read(body: dict[str, Any], model: str) -> Seen:
    contents = body.get("contents", [])
    answers = [place for place, content in enumerate(contents) if content.get("role") == "model"]
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
    )


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
