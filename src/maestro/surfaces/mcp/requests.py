"""What the endpoint itself reads of requests: plain calls, who says hello, what is taken back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from maestro.surfaces.mcp.calls import STRUCTURED, Order
from maestro.surfaces.mcp.known import Known

Headers = Mapping[bytes, bytes]
SESSION = b"mcp-session-id"
VERSION = b"mcp-protocol-version"
MODERN = b"2026-07-28"
CANCELLED = b"notifications/cancelled"
_PLAIN, _STRUCTURED = Order(), Order(structured=True)


class Params(msgspec.Struct):
    name: str
    arguments: dict[str, Any] | None = None
    meta: dict[str, Any] | None = msgspec.field(name="_meta", default=None)


class Call(msgspec.Struct, forbid_unknown_fields=True):
    jsonrpc: str
    id: int | str
    method: str
    params: Params


class _ClientInfo(msgspec.Struct, frozen=True):
    name: str = ""


class _HelloParams(msgspec.Struct, rename="camel"):
    client_info: _ClientInfo = _ClientInfo()


class _Hello(msgspec.Struct):
    method: str
    params: _HelloParams


class _Taken(msgspec.Struct, rename="camel"):
    request_id: int | str = ""


class _Cancelled(msgspec.Struct):
    params: _Taken


_read_cancelled = msgspec.json.Decoder(_Cancelled).decode
_read_call = msgspec.json.Decoder(Call).decode
_read_hello = msgspec.json.Decoder(_Hello).decode


def call_of(body: bytes) -> Call | None:
    """A plain tool call; None for anything else."""
    try:
        call = _read_call(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return call if call.jsonrpc == "2.0" and call.method == "tools/call" else None


def order_of(call: Call) -> Order:
    """What a call says of how it is to be carried out."""
    return _STRUCTURED if (call.params.meta or {}).get(STRUCTURED) is True else _PLAIN


def is_plain(known: Known | None, headers: Headers) -> bool:
    """A request of an established session that says nothing out of the ordinary."""
    return (
        known is not None
        and known.ready
        and headers.get(VERSION, known.version) == known.version
        and is_json(headers, both=False)
    )


def is_json(headers: Headers, *, both: bool) -> bool:
    accept = headers.get(b"accept", b"")
    kind = headers.get(b"content-type", b"").partition(b";")[0].strip()
    takes_both = b"application/json" in accept and b"text/event-stream" in accept
    return kind == b"application/json" and (takes_both or (not both and b"*/*" in accept))


def client_of(body: bytes) -> str:
    """What a client that says hello calls itself."""
    try:
        return _read_hello(body).params.client_info.name
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ""


def cancelled_by(body: bytes) -> int | str:
    """The request that a client takes back."""
    try:
        return _read_cancelled(body).params.request_id
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ""
