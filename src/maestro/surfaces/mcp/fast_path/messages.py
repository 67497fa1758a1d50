"""Read MCP messages without the SDK.

Each type is narrower than the protocol's type. The SDK decides about a message that does not fit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

MODERN_REVISION = "2026-07-28"
HANDSHAKE_REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
INITIALIZED = "notifications/initialized"
_CANCELLED = b"notifications/cancelled"
_META_PREFIX = "io.modelcontextprotocol/"
_MODERN_META = frozenset(
    {f"{_META_PREFIX}{name}" for name in ("protocolVersion", "clientInfo", "clientCapabilities")}
)


class RpcMessage(msgspec.Struct, forbid_unknown_fields=True):
    """A request, or a notification, which has no id."""

    jsonrpc: str
    method: str
    id: int | str | msgspec.UnsetType = msgspec.UNSET
    params: msgspec.Raw = msgspec.Raw(b"{}")


class ToolCallParams(msgspec.Struct):
    """The parameters of a tool call."""

    name: str
    arguments: dict[str, Any] | None = None
    meta: dict[str, Any] | None = msgspec.field(name="_meta", default=None)


class ListParams(msgspec.Struct, forbid_unknown_fields=True):
    """The parameters of a request that needs none."""

    meta: dict[str, Any] | None = msgspec.field(name="_meta", default=None)


class _Icon(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    src: str
    mime_type: str | None = None
    sizes: list[str] | None = None


class ClientInfo(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """The name and the version of a client."""

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


class InitializeParams(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """The parameters of `initialize`."""

    protocol_version: str
    capabilities: _Capabilities
    client_info: ClientInfo

    @property
    def agreed_revision(self) -> str:
        """The protocol revision of the session."""
        return self.protocol_version if self.protocol_version in HANDSHAKE_REVISIONS else HANDSHAKE_REVISIONS[-1]


class _ClientName(msgspec.Struct):
    name: str = ""


class _NamedParams(msgspec.Struct, rename="camel"):
    client_info: _ClientName


class _NamedHello(msgspec.Struct):
    params: _NamedParams


class _CancelledParams(msgspec.Struct, rename="camel"):
    request_id: int | str = ""


class _Cancelled(msgspec.Struct):
    params: _CancelledParams


_Params = TypeVar("_Params", ToolCallParams, ListParams, InitializeParams)
_decode_message = msgspec.json.Decoder(RpcMessage).decode
_decode_hello = msgspec.json.Decoder(_NamedHello).decode
_decode_cancelled = msgspec.json.Decoder(_Cancelled).decode
_DECODERS: dict[type, Any] = {
    shape: msgspec.json.Decoder(shape).decode for shape in (ToolCallParams, ListParams, InitializeParams)
}


def decode_message(data: bytes) -> RpcMessage | None:
    """Return the message in the data; None if the data is no message, or a batch."""
    try:
        message = _decode_message(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return message if message.jsonrpc == "2.0" else None


def decode_params(message: RpcMessage, shape: type[_Params]) -> _Params | None:
    """Return the parameters of a message, or None if they do not have the usual form."""
    try:
        params: _Params = _DECODERS[shape](message.params)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return params


def is_plain_meta(meta: Mapping[str, Any] | None) -> bool:
    """Return whether the `_meta` of a request after a handshake has only usual fields."""
    return not meta or (_has_valid_token(meta) and not any(name.startswith(_META_PREFIX) for name in meta))


def is_modern_meta(meta: Mapping[str, Any] | None) -> bool:
    """Return whether the `_meta` of a request of 2026-07-28 is complete and has only usual fields."""
    if not meta or meta.get(f"{_META_PREFIX}protocolVersion") != MODERN_REVISION or not _has_valid_token(meta):
        return False
    if any(name.startswith(_META_PREFIX) and name not in _MODERN_META for name in meta):
        return False
    try:
        msgspec.convert(meta.get(f"{_META_PREFIX}clientInfo"), ClientInfo)
        msgspec.convert(meta.get(f"{_META_PREFIX}clientCapabilities"), _Capabilities)
    except msgspec.ValidationError:
        return False
    return True


def _has_valid_token(meta: Mapping[str, Any]) -> bool:
    return isinstance(meta.get("progressToken", 0), int | str)


def client_in_initialize(body: bytes) -> str:
    """Return the client's name in any `initialize`, or an empty string."""
    try:
        return _decode_hello(body).params.client_info.name
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ""


def client_in_request(message: RpcMessage) -> str:
    """Return the client's name in a request of 2026-07-28, or an empty string."""
    params = (
        decode_params(message, ToolCallParams)
        if message.method == "tools/call"
        else decode_params(message, ListParams)
    )
    info = (params.meta or {}).get(f"{_META_PREFIX}clientInfo") if params is not None else None
    name = info.get("name") if isinstance(info, dict) else None
    return name if isinstance(name, str) else ""


def find_cancelled_id(body: bytes) -> int | str:
    """Return the id of the request that a client cancels, or an empty string."""
    if _CANCELLED not in body:
        return ""
    try:
        return _decode_cancelled(body).params.request_id
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ""
