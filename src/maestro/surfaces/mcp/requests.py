"""What is read of messages without the SDK.

Each shape is narrower than the protocol's: what does not fit is not wrong, it is the SDK's to judge.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

Headers = Mapping[bytes, bytes]
SESSION = b"mcp-session-id"
VERSION = b"mcp-protocol-version"
MODERN = "2026-07-28"
HANDSHAKES = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
INITIALIZED = "notifications/initialized"
_CANCELLED = b"notifications/cancelled"
_META = "io.modelcontextprotocol/"
_ENVELOPE = frozenset({f"{_META}{name}" for name in ("protocolVersion", "clientInfo", "clientCapabilities")})


class Message(msgspec.Struct, forbid_unknown_fields=True):
    """A request, or a notification, which has no id."""

    jsonrpc: str
    method: str
    id: int | str | msgspec.UnsetType = msgspec.UNSET
    params: msgspec.Raw = msgspec.Raw(b"{}")


class Call(msgspec.Struct):
    """What a tool call says."""

    name: str
    arguments: dict[str, Any] | None = None
    meta: dict[str, Any] | None = msgspec.field(name="_meta", default=None)


class Listing(msgspec.Struct, forbid_unknown_fields=True):
    """What a request says that needs to say nothing."""

    meta: dict[str, Any] | None = msgspec.field(name="_meta", default=None)


class _Icon(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    src: str
    mime_type: str | None = None
    sizes: list[str] | None = None


class ClientInfo(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """What a client calls itself."""

    name: str
    version: str
    title: str | None = None
    description: str | None = None
    website_url: str | None = None
    icons: list[_Icon] | None = None


class _Roots(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    list_changed: bool | None = None


class _Capabilities(msgspec.Struct, forbid_unknown_fields=True):
    roots: _Roots | None = None
    sampling: dict[str, dict[str, Any]] | None = None
    elicitation: dict[str, dict[str, Any]] | None = None
    experimental: dict[str, dict[str, Any]] | None = None
    extensions: dict[str, dict[str, Any]] | None = None


class Hello(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """How a client introduces itself."""

    protocol_version: str
    capabilities: _Capabilities
    client_info: ClientInfo

    @property
    def version(self) -> str:
        """The revision that is spoken from then on."""
        return self.protocol_version if self.protocol_version in HANDSHAKES else HANDSHAKES[-1]


class _Named(msgspec.Struct):
    name: str = ""


class _HelloParams(msgspec.Struct, rename="camel"):
    client_info: _Named


class _AnyHello(msgspec.Struct):
    params: _HelloParams


class _Taken(msgspec.Struct, rename="camel"):
    request_id: int | str = ""


class _Cancelled(msgspec.Struct):
    params: _Taken


_Shape = TypeVar("_Shape", Call, Listing, Hello)
_read_message = msgspec.json.Decoder(Message).decode
_read_hello = msgspec.json.Decoder(_AnyHello).decode
_read_cancelled = msgspec.json.Decoder(_Cancelled).decode
_READ: dict[type, Any] = {shape: msgspec.json.Decoder(shape).decode for shape in (Call, Listing, Hello)}


def message_of(data: bytes) -> Message | None:
    """One message of the protocol; None for what is none, or more than one."""
    try:
        message = _read_message(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return message if message.jsonrpc == "2.0" else None


def params_of(message: Message, shape: type[_Shape]) -> _Shape | None:
    """What a message says, if it says it as is usual."""
    try:
        found: _Shape = _READ[shape](message.params)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return found


def is_plain(meta: Mapping[str, Any] | None) -> bool:
    """Whether a request with a handshake before it says nothing out of the ordinary."""
    return not meta or (_is_token(meta) and not any(name.startswith(_META) for name in meta))


def is_envelope(meta: Mapping[str, Any] | None) -> bool:
    """Whether a request speaks for itself, as since 2026-07-28, and says nothing out of the ordinary."""
    if not meta or meta.get(f"{_META}protocolVersion") != MODERN or not _is_token(meta):
        return False
    if any(name.startswith(_META) and name not in _ENVELOPE for name in meta):
        return False
    try:
        msgspec.convert(meta.get(f"{_META}clientInfo"), ClientInfo)
        msgspec.convert(meta.get(f"{_META}clientCapabilities"), _Capabilities)
    except msgspec.ValidationError:
        return False
    return True


def _is_token(meta: Mapping[str, Any]) -> bool:
    return isinstance(meta.get("progressToken", 0), int | str)


def is_json(headers: Headers, *, both: bool) -> bool:
    accept = headers.get(b"accept", b"")
    kind = headers.get(b"content-type", b"").partition(b";")[0].strip()
    takes_both = b"application/json" in accept and b"text/event-stream" in accept
    return kind == b"application/json" and (takes_both or (not both and b"*/*" in accept))


def client_of(body: bytes) -> str:
    """What a client that introduces itself in any way calls itself."""
    try:
        return _read_hello(body).params.client_info.name
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ""


def client_in(message: Message) -> str:
    """What the client of a request that speaks for itself calls itself."""
    listing = params_of(message, Call) if message.method == "tools/call" else params_of(message, Listing)
    info = (listing.meta or {}).get(f"{_META}clientInfo") if listing is not None else None
    name = info.get("name") if isinstance(info, dict) else None
    return name if isinstance(name, str) else ""


def cancelled_by(body: bytes) -> int | str:
    """The request that a client takes back; '' if it does no such thing."""
    if _CANCELLED not in body:
        return ""
    try:
        return _read_cancelled(body).params.request_id
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ""
