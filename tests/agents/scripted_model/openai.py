"""The Responses API, as far as Codex uses it: always streamed, and for some models with a single tool for code."""

from __future__ import annotations

import itertools
import json
import uuid
from collections.abc import Iterator
from typing import Any, NamedTuple

from scripted_model.conversation import Call, Say, Seen, text_of

_USAGE = {
    "input_tokens": 10,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens": 20,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 30,
}


class _Tool(NamedTuple):
    space: str  # the namespace, which a call must repeat
    name: str
    is_custom: bool  # takes a text instead of arguments


def read(body: dict[str, Any], model: str) -> Seen:
    items: list[dict[str, Any]] = body.get("input", [])
    answers = [place for place, item in enumerate(items) if _is_answer(item)]
    spoken = [item for item in items if item.get("role") in ("developer", "system")]
    offered = _offered(body)
    return Seen(
        model=model,
        turn=len(answers),
        system=f"{body.get('instructions') or ''}\n{text_of(spoken)}",
        newest=text_of(items[answers[-1] + 1 if answers else 0 :]),
        tools=tuple(offered),
        body=body,
        is_aside=not offered or "thread_title" in json.dumps(body.get("client_metadata")),
        code="exec" if "exec" in offered and offered["exec"].is_custom else "",
    )


def events(seen: Seen, answer: Say | Call) -> Iterator[dict[str, Any]]:
    item = _item(seen, answer)
    response = {"id": f"resp_{uuid.uuid4().hex}", "object": "response", "created_at": 0, "model": seen.model}
    yield {"type": "response.created", "response": response | {"status": "in_progress", "output": []}}
    yield {"type": "response.output_item.added", "output_index": 0, "item": item | {"status": "in_progress"}}
    yield {"type": "response.output_item.done", "output_index": 0, "item": item}
    done = response | {"status": "completed", "output": [item], "usage": _USAGE}
    yield {"type": "response.completed", "response": done}


def _is_answer(item: dict[str, Any]) -> bool:
    return item.get("type") in ("function_call", "custom_tool_call") or item.get("role") == "assistant"


def _offered(body: dict[str, Any]) -> dict[str, _Tool]:
    """Return the offered tools by name. The tools of an MCP server have a namespace of their own."""
    added = [item["tools"] for item in body["input"] if item.get("type") == "additional_tools"]
    found = {}
    for tool in itertools.chain(body.get("tools") or [], *added):
        if tool["type"] == "namespace":
            prefix = "" if tool["name"] == "functions" else f"{tool['name'].removesuffix('__')}__"
            for one in tool["tools"]:
                found[prefix + one["name"]] = _Tool(tool["name"], one["name"], one["type"] == "custom")
        elif tool["type"] == "function":
            found[tool["name"]] = _Tool("", tool["name"], False)
    return found


def _item(seen: Seen, answer: Say | Call) -> dict[str, Any]:
    made = {"id": f"item_{uuid.uuid4().hex}", "status": "completed"}
    if isinstance(answer, Say):
        content = [{"type": "output_text", "text": answer.text, "annotations": []}]
        return made | {"type": "message", "role": "assistant", "content": content}
    tool = _offered(seen.body)[answer.tool]
    made |= {"call_id": f"call_{uuid.uuid4().hex}", "name": tool.name}
    if tool.space:
        made["namespace"] = tool.space
    if tool.is_custom:
        return made | {"type": "custom_tool_call", "input": answer.arguments["source"]}
    return made | {"type": "function_call", "arguments": json.dumps(dict(answer.arguments))}
