"""Test the bounds of HTTP connections over real sockets, with a server in this process."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from maestro.core import limits
from maestro.server import http
from maestro.server.app import Server
from maestro.server.http_protocol import TcpOutcome
from maestro.server.surfaces import build_surfaces

SECONDS_MAX = 20
GET_STATUS = b"GET /api/openapi.json HTTP/1.1\r\nhost: localhost\r\n"


@pytest.fixture
async def port(server: Server) -> AsyncIterator[int]:
    """Serve HTTP on a free port of loopback, and return the port."""
    listener = http.open_listener("127.0.0.1", 0)
    surfaces = build_surfaces(server)
    serving = asyncio.create_task(http.serve_http(surfaces.http, listener, server.state.stopping))
    yield listener.getsockname()[1]
    server.state.stopping.set()
    await surfaces.mcp.stop()
    await serving


@asynccontextmanager
async def connect(port: int) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        async with asyncio.timeout(SECONDS_MAX):
            yield reader, writer
    finally:
        writer.close()


async def read_status(reader: asyncio.StreamReader) -> int:
    return int((await reader.readline()).split()[1])


async def test_a_head_that_is_too_large_is_refused(port: int) -> None:
    async with connect(port) as (reader, writer):
        writer.write(GET_STATUS)
        for _ in range(limits.http_header_bytes_max // 1000 + 2):
            writer.write(b"x-long: " + b"x" * 1000 + b"\r\n")
        assert await read_status(reader) == 431


async def test_data_that_is_not_http_is_refused(port: int) -> None:
    async with connect(port) as (reader, writer):
        writer.write(b"\x16\x03\x01 this is not HTTP\r\n\r\n")
        assert await read_status(reader) == 400
        assert b'"code":"invalid"' in await reader.read()


async def test_an_unfinished_head_is_refused_after_its_time(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "http_head_seconds_max", 0.05)
    async with connect(port) as (reader, writer):
        writer.write(GET_STATUS)
        assert await read_status(reader) == 408
        assert b'"code":"timed_out"' in await reader.read()


async def test_two_requests_on_one_connection_are_answered_in_order(port: int) -> None:
    async with connect(port) as (reader, writer):
        writer.write(GET_STATUS + b"\r\n" + b"GET /unknown HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
        answers = await reader.read()
    assert answers.index(b"HTTP/1.1 200") < answers.index(b"HTTP/1.1 404")


async def test_a_connection_with_a_reserved_descriptor_is_refused(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "descriptors_reserved", 10**9)
    async with connect(port) as (reader, _):
        assert await read_status(reader) == 503


class SignallingOutcome(TcpOutcome):
    """An outcome that signals the end of its check."""

    def __init__(self) -> None:
        self.is_watched = True
        self.is_checked = asyncio.Event()

    def _check_for_reset(self, copy: socket.socket) -> None:
        super()._check_for_reset(copy)
        self.is_checked.set()


@pytest.mark.skipif(not hasattr(socket, "TCP_INFO"), reason="the system does not report the state of a connection")
@pytest.mark.parametrize("has_read", [True, False])
async def test_an_unread_answer_breaks_the_outcome(has_read: bool) -> None:
    listener = http.open_listener("127.0.0.1", 0)
    loop = asyncio.get_running_loop()
    with listener, socket.create_connection(listener.getsockname()) as client:
        accepted, _ = await loop.sock_accept(listener)
        with accepted:
            accepted.setblocking(True)
            accepted.sendall(b"answer")
            client.recv(64, 0 if has_read else socket.MSG_PEEK)
            client.close()
            outcome = SignallingOutcome()
            outcome.note_client_close(accepted.fileno())
            async with asyncio.timeout(SECONDS_MAX):
                await outcome.is_checked.wait()
    assert outcome.is_broken == (not has_read)
