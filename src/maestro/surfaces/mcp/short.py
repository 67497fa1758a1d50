"""The fast path: answer handshakes, lists and quick calls without the SDK, over HTTP and over the pipe.

The SDK takes a second to import and is slow to call, and most requests of agents do not need the SDK. The fast path
only gives results. The SDK answers every message that the fast path does not recognise completely, above all errors
of the protocol. A test checks that both give equal answers.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from maestro import __version__
from maestro.core import errors
from maestro.domain.callers import Caller, Role
from maestro.surfaces.mcp import requests, resources, schemas
from maestro.surfaces.mcp.calls import STRUCTURED, Answer, Calls, Order
from maestro.surfaces.mcp.requests import Call, Hello, Listing, Message

INSTRUCTIONS = (
    "Maestro coordinates agents: mail, tasks, sessions. Call whoami first: whoami says who you are and what to do."
)
_SERVER = {"name": "maestro", "version": __version__}
# Since 2026-07-28 every answer names its server. A list belongs to its caller, and may change at any time.
_MODERN_FIELDS = {"_meta": {"io.modelcontextprotocol/serverInfo": _SERVER}, "resultType": "complete"}
_UNCACHED_FIELDS = {"cacheScope": "private", "ttlMs": 0}
_UNKNOWN_CALLER = Caller(Role.WORKER, "someone")

Who = Callable[[], Awaitable[Caller]]  # returns the caller; raises a MaestroError if the caller is not known
How = Callable[[str, Mapping[str, Any]], Order]  # returns the options of a tool call


@dataclass(frozen=True)
class Result:
    """The result of a request."""

    body: dict[str, Any]
    receipt: str = ""  # names the mail that the result shows
    caller: Caller | None = None


def greeting(hello: Hello) -> dict[str, Any]:
    """Return the result of a client's `initialize`."""
    capabilities = {"resources": {"listChanged": False, "subscribe": True}, "tools": {"listChanged": True}}
    return {
        "protocolVersion": hello.version,
        "capabilities": capabilities,
        "serverInfo": _SERVER,
        "instructions": INSTRUCTIONS,
    }


def listed_resources() -> list[dict[str, Any]]:
    return [_describe_resource(resource, uri=resource.uri) for resource in resources.FIXED]


def listed_templates() -> list[dict[str, Any]]:
    return [_describe_resource(template, uriTemplate=template.uri) for template in resources.TEMPLATES]


async def listed_tools(who: Who) -> tuple[list[dict[str, Any]], Caller]:
    """Return the tools of a caller, and the caller.

    An unknown caller gets the tools of a worker. The first call reports why the caller is unknown.
    """
    try:
        caller = await who()
    except errors.MaestroError:
        caller = _UNKNOWN_CALLER
    return schemas.listed(caller), caller


class Short:
    """The requests that need no SDK."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def result(self, message: Message, who: Who, how: How, *, modern: bool) -> Result | None:
        """Return the result of a request; None if the SDK must answer."""
        if message.method == "tools/call":
            call = requests.params_of(message, Call)
            if call is None or not _has_usual_meta(call.meta, modern=modern):
                return None
            result = await self._call_tool(call, who, how)
        else:
            listing = requests.params_of(message, Listing)
            if listing is None or not _has_usual_meta(listing.meta, modern=modern):
                return None
            result = await self._list_items(message.method, who, modern=modern)
        if result is None or not modern:
            return result
        return replace(result, body=result.body | _MODERN_FIELDS)

    async def _list_items(self, method: str, identify: Who, *, modern: bool) -> Result | None:
        extra = _UNCACHED_FIELDS if modern else {}
        if method == "tools/list":
            tools, caller = await listed_tools(identify)
            return Result({"tools": tools, **extra}, caller=caller)
        if method == "resources/list":
            return Result({"resources": listed_resources(), **extra})
        if method == "resources/templates/list":
            return Result({"resourceTemplates": listed_templates(), **extra})
        if method == "ping" and not modern:
            return Result({})
        if method == "server/discover" and modern:
            capabilities = {"resources": {"listChanged": True, "subscribe": True}, "tools": {"listChanged": True}}
            supported = {"supportedVersions": [requests.MODERN], "capabilities": capabilities}
            return Result(supported | {"instructions": INSTRUCTIONS} | extra)
        return None

    async def _call_tool(self, call: Call, identify: Who, find_options: How) -> Result | None:
        name, arguments = call.name, call.arguments or {}
        options = find_options(name, arguments)
        if call.meta and call.meta.get(STRUCTURED) is True:
            options = replace(options, wants_data=True)
        try:
            caller = await identify()
        except errors.MaestroError as error:
            return Result(_tool_result(self._calls.refusal(error, options)))
        if not self._calls.is_quick(name, arguments, caller):
            return None
        answer = await self._calls.call(name, arguments, caller, options)
        return Result(_tool_result(answer), answer.receipt, caller)


def _has_usual_meta(meta: Mapping[str, Any] | None, *, modern: bool) -> bool:
    return requests.is_envelope(meta) if modern else requests.is_plain(meta)


def _tool_result(answer: Answer) -> dict[str, Any]:
    result: dict[str, Any] = {"content": [{"type": "text", "text": answer.text}], "isError": answer.is_error}
    return result | {"structuredContent": answer.data} if answer.data is not None else result


def _describe_resource(listed: resources.Listed, **address: str) -> dict[str, Any]:
    return {**address, "name": listed.name, "description": listed.description, "mimeType": resources.MIME}


_encode = msgspec.json.Encoder().encode


def reply(message: Message, result: Mapping[str, Any]) -> bytes:
    """Return the encoded answer to a request."""
    return _encode({"jsonrpc": "2.0", "id": message.id, "result": result})
