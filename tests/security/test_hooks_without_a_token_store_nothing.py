"""A hook that shows no caller leaves no note: anybody could fill the store with such requests."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from maestro.domain.callers import Caller
from maestro.operations import hooks as hook_ops
from maestro.server.app import Server

PATIENCE_SECONDS = 10.0


async def post(port: int, token: str = "", *headers: str, body: bytes = b"{}") -> int:
    """Send one hook of claude; the status of the answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    given = [f"Authorization: Bearer {token}"] if token else []
    if not any(header.startswith("Host:") for header in headers):
        given.append("Host: 127.0.0.1")
    lines = [
        "POST /hooks/claude/Stop HTTP/1.1",
        *given,
        *headers,
        "Connection: close",
        f"Content-Length: {len(body)}",
    ]
    try:
        writer.write("\r\n".join([*lines, "", ""]).encode() + body)
        said = await asyncio.wait_for(reader.read(), PATIENCE_SECONDS)
    finally:
        writer.close()
    return int(said.split()[1])


async def notes(server: Server, dana: Caller) -> list[Any]:
    """Read what is stored about hooks, after every write that was begun is done."""
    await server.parts.hooks.firings.close()
    found = await server.call(hook_ops.LIST, hook_ops.ListHooks(), caller=dana)
    return list(found.hooks)


@pytest.mark.parametrize(
    ("token", "header", "status"),
    [
        ("", "X-None: 1", 401),
        ("mst_wrong", "X-None: 1", 401),
        ("", "Host: elsewhere.example", 403),
        ("", "Origin: http://elsewhere.example", 403),
    ],
)
async def test_a_stranger_leaves_no_note(
    server: Server, dana: Caller, port: int, token: str, header: str, status: int
) -> None:
    assert await post(port, token, header) == status
    assert await notes(server, dana) == []


async def test_a_foreign_page_with_a_good_token_leaves_no_note(server: Server, dana: Caller, port: int) -> None:
    """A web page that somehow has a token is still no caller of ours."""
    token = (server.home / "token").read_text().strip()
    assert await post(port, token, "Origin: http://elsewhere.example") == 403
    assert await notes(server, dana) == []


async def test_what_goes_wrong_with_a_known_caller_is_noted(server: Server, dana: Caller, port: int) -> None:
    token = (server.home / "token").read_text().strip()
    await post(port, token, body=b"no JSON")
    (noted,) = await notes(server, dana)
    assert (noted.tool, noted.event) == ("claude", "Stop") and "cannot be read" in noted.problem
