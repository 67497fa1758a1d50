"""The HTTP headers of an MCP request are checked, found and replaced."""

from __future__ import annotations

import pytest

from maestro.surfaces.mcp.http import headers

BOTH = b"application/json, text/event-stream"


@pytest.mark.parametrize(
    ("content_type", "accept", "for_both", "for_one"),
    [
        (b"application/json", BOTH, True, True),
        (b"application/json; charset=utf-8", BOTH, True, True),
        (b"application/json", b"*/*", False, True),
        (b"application/json", b"application/json", False, False),
        (b"text/plain", BOTH, False, False),
        (b"", BOTH, False, False),
    ],
)
def test_content_type_and_accept_decide_whether_a_request_is_a_json_request(
    content_type: bytes, accept: bytes, for_both: bool, for_one: bool
) -> None:
    given = {b"content-type": content_type, b"accept": accept}
    assert headers.is_json_request(given, both=True) is for_both
    assert headers.is_json_request(given, both=False) is for_one


def test_a_header_is_found_and_replaced() -> None:
    listed = [(b"a", b"1"), (b"mcp-session-id", b"old")]
    assert headers.find_header({"headers": listed}, b"mcp-session-id") == "old"
    assert headers.find_header({"headers": listed}, b"missing") == ""
    assert headers.replace_header(listed, b"mcp-session-id", "new") == [(b"a", b"1"), (b"mcp-session-id", b"new")]
