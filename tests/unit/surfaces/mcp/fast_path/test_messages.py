"""The fast path reads only usual MCP messages and leaves all other messages to the SDK."""

from __future__ import annotations

import json
from typing import Any

import pytest

from maestro.surfaces.mcp.fast_path import messages
from maestro.surfaces.mcp.fast_path.messages import InitializeParams, ListParams, ToolCallParams
from maestro.testing.mcp_wire import META

HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "b", "version": "1"}}


def decode(**fields: Any) -> messages.RpcMessage:
    found = messages.decode_message(json.dumps({"jsonrpc": "2.0", "method": "x"} | fields).encode())
    assert found is not None
    return found


@pytest.mark.parametrize(
    "data", [b"{", b"[]", b"\xff", b'{"jsonrpc":"1.0","method":"x"}', b'{"jsonrpc":"2.0","method":"x","more":1}']
)
def test_an_unusual_message_is_left_to_the_sdk(data: bytes) -> None:
    assert messages.decode_message(data) is None


def test_parameters_are_decoded_into_the_requested_type() -> None:
    call = messages.decode_params(decode(params={"name": "whoami", "arguments": {"a": 1}}), ToolCallParams)
    assert call is not None and (call.name, call.arguments) == ("whoami", {"a": 1})
    assert messages.decode_params(decode(params={"cursor": "1"}), ListParams) is None
    assert messages.decode_params(decode(), ListParams) is not None


@pytest.mark.parametrize(("asked", "agreed"), [("2025-03-26", "2025-03-26"), ("1999-01-01", "2025-11-25")])
def test_an_unknown_protocol_revision_is_answered_with_the_newest_revision(asked: str, agreed: str) -> None:
    hello = messages.decode_params(decode(params=HELLO | {"protocolVersion": asked}), InitializeParams)
    assert hello is not None and hello.agreed_revision == agreed


def test_the_plain_meta_of_a_request_has_no_modern_fields() -> None:
    assert messages.is_plain_meta(None) and messages.is_plain_meta({"progressToken": "t", "other": 1})
    assert not messages.is_plain_meta({"progressToken": 1.5})
    assert not messages.is_plain_meta(META)


@pytest.mark.parametrize(
    "change",
    [
        {"io.modelcontextprotocol/protocolVersion": "2025-06-18"},
        {"io.modelcontextprotocol/clientInfo": {"name": "b"}},
        {"io.modelcontextprotocol/clientCapabilities": {"roots": 5}},
        {"io.modelcontextprotocol/unknown": 1},
        {"progressToken": []},
    ],
)
def test_the_meta_of_a_modern_request_must_be_complete_and_usual(change: dict[str, Any]) -> None:
    assert messages.is_modern_meta(META) and not messages.is_modern_meta(None)
    assert not messages.is_modern_meta(META | change)


def test_the_name_of_a_client_is_found() -> None:
    assert messages.client_in_initialize(json.dumps({"params": HELLO}).encode()) == "b"
    assert messages.client_in_initialize(b"{") == ""
    modern = decode(method="tools/call", params={"name": "whoami", "_meta": META})
    assert messages.client_in_request(modern) == "b"
    assert messages.client_in_request(decode(method="tools/list")) == ""


@pytest.mark.parametrize(
    ("body", "cancelled"),
    [
        (b'{"method":"notifications/cancelled","params":{"requestId":7}}', 7),
        (b'{"method":"notifications/cancelled","params":{"requestId":"a"}}', "a"),
        (b'{"method":"notifications/cancelled","params":3}', ""),
        (b'{"method":"tools/call","params":{"requestId":7}}', ""),
    ],
)
def test_the_id_of_a_cancelled_request_is_found(body: bytes, cancelled: int | str) -> None:
    assert messages.find_cancelled_id(body) == cancelled
