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
from maestro.surfaces.mcp.fast_path import messages
from maestro.surfaces.mcp.fast_path.messages import InitializeParams, ListParams, RpcMessage, ToolCallParams
from maestro.surfaces.mcp.tools import resources, schemas
from maestro.surfaces.mcp.tools.calls import STRUCTURED, CallOptions, ToolAnswer, ToolCalls

INSTRUCTIONS = (
    "Maestro coordinates agents: mail, tasks, sessions. Call whoami first: whoami says who you are and what to do."
)
_SERVER = {"name": "maestro", "version": __version__}
# Since 2026-07-28 every answer names its server. A list belongs to its caller, and may change at any time.
_MODERN_FIELDS = {"_meta": {"io.modelcontextprotocol/serverInfo": _SERVER}, "resultType": "complete"}
_UNCACHED_FIELDS = {"cacheScope": "private", "ttlMs": 0}
_UNKNOWN_CALLER = Caller(Role.WORKER, "someone")

# Returns the caller; raises a MaestroError if the caller is not known.
IdentifyCaller = Callable[[], Awaitable[Caller]]
# Returns the options of a tool call.
FindCallOptions = Callable[[str, Mapping[str, Any]], CallOptions]


@dataclass(frozen=True)
class FastResult:
    """The result of a request."""

    body: dict[str, Any]
    receipt: str = ""  # names the mail that the result shows
    caller: Caller | None = None


def initialize_result(hello: InitializeParams) -> dict[str, Any]:
    """Return the result of a client's `initialize`."""
    capabilities = {"resources": {"listChanged": False, "subscribe": True}, "tools": {"listChanged": True}}
    return {
        "protocolVersion": hello.agreed_revision,
        "capabilities": capabilities,
        "serverInfo": _SERVER,
        "instructions": INSTRUCTIONS,
    }


def listed_resources() -> list[dict[str, Any]]:
    return [_describe_resource(resource, uri=resource.uri) for resource in resources.FIXED_RESOURCES]


def listed_templates() -> list[dict[str, Any]]:
    return [_describe_resource(template, uriTemplate=template.uri) for template in resources.RESOURCE_TEMPLATES]


async def listed_tools(identify: IdentifyCaller) -> tuple[list[dict[str, Any]], Caller]:
    """Return the tools of a caller, and the caller.

    An unknown caller gets the tools of a worker. The first call reports why the caller is unknown.
    """
    try:
        caller = await identify()
    except errors.MaestroError:
        caller = _UNKNOWN_CALLER
    return schemas.list_tools(caller), caller


class FastPath:
    """The requests that need no SDK."""

    def __init__(self, calls: ToolCalls) -> None:
        self._calls = calls

    async def find_result(
        self, message: RpcMessage, identify: IdentifyCaller, call_options: FindCallOptions, *, modern: bool
    ) -> FastResult | None:
        """Return the result of a request; None if the SDK must answer."""
        if message.method == "tools/call":
            call = messages.decode_params(message, ToolCallParams)
            if call is None or not _has_usual_meta(call.meta, modern=modern):
                return None
            result = await self._call_tool(call, identify, call_options)
        else:
            listing = messages.decode_params(message, ListParams)
            if listing is None or not _has_usual_meta(listing.meta, modern=modern):
                return None
            result = await self._list_items(message.method, identify, modern=modern)
        if result is None or not modern:
            return result
        return replace(result, body=result.body | _MODERN_FIELDS)

    async def _list_items(self, method: str, identify: IdentifyCaller, *, modern: bool) -> FastResult | None:
        extra = _UNCACHED_FIELDS if modern else {}
        if method == "tools/list":
            tools, caller = await listed_tools(identify)
            return FastResult({"tools": tools, **extra}, caller=caller)
        if method == "resources/list":
            return FastResult({"resources": listed_resources(), **extra})
        if method == "resources/templates/list":
            return FastResult({"resourceTemplates": listed_templates(), **extra})
        if method == "ping" and not modern:
            return FastResult({})
        if method == "server/discover" and modern:
            capabilities = {"resources": {"listChanged": True, "subscribe": True}, "tools": {"listChanged": True}}
            supported = {"supportedVersions": [messages.MODERN_REVISION], "capabilities": capabilities}
            return FastResult(supported | {"instructions": INSTRUCTIONS} | extra)
        return None

    async def _call_tool(
        self, call: ToolCallParams, identify: IdentifyCaller, find_options: FindCallOptions
    ) -> FastResult | None:
        name, arguments = call.name, call.arguments or {}
        options = find_options(name, arguments)
        if call.meta and call.meta.get(STRUCTURED) is True:
            options = replace(options, wants_data=True)
        try:
            caller = await identify()
        except errors.MaestroError as error:
            return FastResult(_tool_result(self._calls.error_answer(error, options)))
        if not self._calls.is_quick(name, arguments, caller):
            return None
        answer = await self._calls.call_tool(name, arguments, caller, options)
        return FastResult(_tool_result(answer), answer.receipt, caller)


def _has_usual_meta(meta: Mapping[str, Any] | None, *, modern: bool) -> bool:
    return messages.is_modern_meta(meta) if modern else messages.is_plain_meta(meta)


def _tool_result(answer: ToolAnswer) -> dict[str, Any]:
    result: dict[str, Any] = {"content": [{"type": "text", "text": answer.text}], "isError": answer.is_error}
    return result | {"structuredContent": answer.data} if answer.data is not None else result


def _describe_resource(listed: resources.ListedResource, **address: str) -> dict[str, Any]:
    return {**address, "name": listed.name, "description": listed.description, "mimeType": resources.MIME_TYPE}


_encode = msgspec.json.Encoder().encode


def encode_reply(message: RpcMessage, result: Mapping[str, Any]) -> bytes:
    """Return the encoded answer to a request."""
    return _encode({"jsonrpc": "2.0", "id": message.id, "result": result})
