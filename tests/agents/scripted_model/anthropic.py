"""The Messages API, as far as Claude Code uses it."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from typing import Any

from scripted_model.conversation import Call, Say, Seen, text_of

_USAGE = {"input_tokens": 10, "output_tokens": 20, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}


def read(body: dict[str, Any], model: str) -> Seen:
    messages = body.get("messages", [])
    answers = [place for place, message in enumerate(messages) if message["role"] == "assistant"]
    tools = tuple(tool["name"] for tool in body.get("tools") or [])
    return Seen(
        model=model,
        turn=len(answers),
        system=text_of(body.get("system")),
        newest=text_of(messages[answers[-1] + 1 if answers else 0 :]),
        tools=tools,
        body=body,
        is_aside=not tools,
    )


def whole(seen: Seen, answer: Say | Call) -> dict[str, Any]:
    return _message(seen) | {"content": [_block(answer)], "stop_reason": _reason(answer), "usage": _USAGE}


def events(seen: Seen, answer: Say | Call) -> Iterator[dict[str, Any]]:
    """Yield the events of a streamed answer."""
    yield {"type": "message_start", "message": _message(seen)}
    block = _block(answer)
    if isinstance(answer, Say):
        started, delta = block | {"text": ""}, {"type": "text_delta", "text": answer.text}
    else:
        said = json.dumps(dict(answer.arguments))
        started, delta = block | {"input": {}}, {"type": "input_json_delta", "partial_json": said}
    yield {"type": "content_block_start", "index": 0, "content_block": started}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    reason = {"stop_reason": _reason(answer), "stop_sequence": None}
    yield {"type": "message_delta", "delta": reason, "usage": {"output_tokens": 20}}
    yield {"type": "message_stop"}


def _message(seen: Seen) -> dict[str, Any]:
    return {
        "id": f"msg_{uuid.uuid4().hex}",
        "type": "message",
        "role": "assistant",
        "model": seen.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": _USAGE | {"output_tokens": 1},
    }


def _block(answer: Say | Call) -> dict[str, Any]:
    if isinstance(answer, Say):
        return {"type": "text", "text": answer.text}
    call_id = f"toolu_{uuid.uuid4().hex}"
    return {"type": "tool_use", "id": call_id, "name": answer.tool, "input": dict(answer.arguments)}


def _reason(answer: Say | Call) -> str:
    return "end_turn" if isinstance(answer, Say) else "tool_use"
