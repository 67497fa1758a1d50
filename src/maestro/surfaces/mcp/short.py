"""The short way: what is answered without the SDK. Handshakes, lists and quick calls, over either transport.

The SDK takes a second to import and is slow to call, and most of what agents ask needs nothing of it. This only
ever gives results: whatever is not recognised whole, errors of the protocol above all, is the SDK's to answer. A
test holds both equal.
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
    "Maestro coordinates agents: mail, tasks, sessions. Call whoami first; it says who you are and what to do."
)
_SERVER = {"name": "maestro", "version": __version__}
# Since 2026-07-28 every answer says whose it is; what is listed is the caller's own, and good for now.
_STAMP = {"_meta": {"io.modelcontextprotocol/serverInfo": _SERVER}, "resultType": "complete"}
_UNCACHED = {"cacheScope": "private", "ttlMs": 0}
_SOMEONE = Caller(Role.WORKER, "someone")

Who = Callable[[], Awaitable[Caller]]  # who is calling; a MaestroError says why nobody is
How = Callable[[str, Mapping[str, Any]], Order]  # how a tool is to be called


@dataclass(frozen=True)
class Result:
    """What a request is answered with."""

    body: dict[str, Any]
    receipt: str = ""  # what it shows of the caller's mail
    caller: Caller | None = None


def greeting(hello: Hello) -> dict[str, Any]:
    """The answer to a client that introduces itself."""
    capabilities = {"resources": {"listChanged": False, "subscribe": True}, "tools": {"listChanged": True}}
    return {
        "protocolVersion": hello.version,
        "capabilities": capabilities,
        "serverInfo": _SERVER,
        "instructions": INSTRUCTIONS,
    }


def listed_resources() -> list[dict[str, Any]]:
    return [_described(one, uri=one.uri) for one in resources.FIXED]


def listed_templates() -> list[dict[str, Any]]:
    return [_described(one, uriTemplate=one.uri) for one in resources.TEMPLATES]


async def listed_tools(who: Who) -> tuple[list[dict[str, Any]], Caller]:
    """The tools that a caller sees. Nobody sees what anybody could: whoever calls one is told what is wrong."""
    try:
        caller = await who()
    except errors.MaestroError:
        caller = _SOMEONE
    return schemas.listed(caller), caller


class Short:
    """Answers what it can."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def result(self, message: Message, who: Who, how: How, *, modern: bool) -> Result | None:
        """What a request comes to; None if that is for the SDK to say."""
        if message.method == "tools/call":
            call = requests.params_of(message, Call)
            if call is None or not _is_usual(call.meta, modern=modern):
                return None
            found = await self._called(call, who, how)
        else:
            listing = requests.params_of(message, Listing)
            if listing is None or not _is_usual(listing.meta, modern=modern):
                return None
            found = await self._listed(message.method, who, modern=modern)
        if found is None or not modern:
            return found
        return replace(found, body=found.body | _STAMP)

    async def _listed(self, method: str, who: Who, *, modern: bool) -> Result | None:
        extra = _UNCACHED if modern else {}
        if method == "tools/list":
            tools, caller = await listed_tools(who)
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

    async def _called(self, call: Call, who: Who, how: How) -> Result | None:
        name, arguments = call.name, call.arguments or {}
        order = how(name, arguments)
        if call.meta and call.meta.get(STRUCTURED) is True:
            order = replace(order, structured=True)
        try:
            caller = await who()
        except errors.MaestroError as error:
            return Result(_said(self._calls.refusal(error, order)))
        if not self._calls.is_quick(name, arguments, caller):
            return None
        answer = await self._calls.call(name, arguments, caller, order)
        return Result(_said(answer), answer.receipt, caller)


def _is_usual(meta: Mapping[str, Any] | None, *, modern: bool) -> bool:
    return requests.is_envelope(meta) if modern else requests.is_plain(meta)


def _said(answer: Answer) -> dict[str, Any]:
    said: dict[str, Any] = {"content": [{"type": "text", "text": answer.text}], "isError": answer.is_error}
    return said | {"structuredContent": answer.data} if answer.data is not None else said


def _described(one: resources.Listed, **address: str) -> dict[str, Any]:
    return {**address, "name": one.name, "description": one.description, "mimeType": resources.MIME}


_encode = msgspec.json.Encoder().encode


def reply(message: Message, result: Mapping[str, Any]) -> bytes:
    """The answer to a request, as it goes over a wire."""
    return _encode({"jsonrpc": "2.0", "id": message.id, "result": result})
