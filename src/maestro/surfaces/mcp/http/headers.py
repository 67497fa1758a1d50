"""The HTTP headers of MCP requests and answers."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.types import Message

Headers = Mapping[bytes, bytes]
SESSION_HEADER = b"mcp-session-id"
VERSION_HEADER = b"mcp-protocol-version"
WAIT_SECONDS_HEADER = b"maestro-mcp-wait-seconds"


def is_json_request(headers: Headers, *, both: bool) -> bool:
    """Return whether a request sends JSON and accepts JSON; with `both`, also a stream of events."""
    accept = headers.get(b"accept", b"")
    content_type = headers.get(b"content-type", b"").partition(b";")[0].strip()
    takes_both = b"application/json" in accept and b"text/event-stream" in accept
    return content_type == b"application/json" and (takes_both or (not both and b"*/*" in accept))


def find_header(message: Message, name: bytes) -> str:
    return next((value.decode("latin-1") for key, value in message["headers"] if key == name), "")


def replace_header(headers: list[tuple[bytes, bytes]], name: bytes, value: str) -> list[tuple[bytes, bytes]]:
    return [(key, value.encode() if key == name else old) for key, old in headers]
