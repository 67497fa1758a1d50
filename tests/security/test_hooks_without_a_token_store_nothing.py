"""Tests that a hook without a known caller stores no record: otherwise anybody could fill the store."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from maestro.domain.callers import Caller
from maestro.operations import hooks as hook_ops
from maestro.server.app import Server

PATIENCE_SECONDS = 10.0


async def post(port: int, token: str = "", *headers: str, body: bytes = b"{}") -> int:
    """Send a hook of claude, and return the status of the answer."""
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
    """Return the stored records of hooks after all started writes."""
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
async def test_a_hook_of_an_unknown_or_foreign_caller_stores_no_record(
    server: Server, dana: Caller, port: int, token: str, header: str, status: int
) -> None:
    assert await post(port, token, header) == status
    assert await notes(server, dana) == []


async def test_a_hook_of_a_foreign_page_with_a_valid_token_stores_no_record(
    server: Server, dana: Caller, port: int
) -> None:
    """Send the token from a foreign web page: the page is no caller even if it knows a token."""
    token = (server.home / "token").read_text().strip()
    assert await post(port, token, "Origin: http://elsewhere.example") == 403
    assert await notes(server, dana) == []


async def test_a_faulty_hook_of_a_known_caller_is_recorded(server: Server, dana: Caller, port: int) -> None:
    token = (server.home / "token").read_text().strip()
    await post(port, token, body=b"no JSON")
    (noted,) = await notes(server, dana)
    assert (noted.tool, noted.event) == ("claude", "Stop") and "cannot be read" in noted.problem
