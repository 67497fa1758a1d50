"""Tests that a client without a token takes neither connections nor time from clients with a token."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import socket
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from maestro.core import limits
from maestro.domain.callers import Caller
from maestro.operations import tasks as task_ops
from maestro.server.app import Server
from maestro.testing.live import LiveServer

PATIENCE_SECONDS = 10.0
HEAD_SECONDS = 0.4
HALF_A_HEAD = b"GET /api/tasks HTTP/1.1\r\nHost: 127.0.0.1\r\n"
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lower the time limit of a head from ten seconds, so that no test waits that long."""
    monkeypatch.setattr(limits, "http_head_seconds_max", HEAD_SECONDS, raising=False)


@contextlib.asynccontextmanager
async def connected(port: int) -> AsyncIterator[Streams]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield reader, writer
    finally:
        writer.close()


def request(server: Server, path: str, *headers: str) -> bytes:
    token = (server.home / "token").read_text().strip()
    lines = [f"GET {path} HTTP/1.1", "Host: 127.0.0.1", f"Authorization: Bearer {token}", *headers]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


async def answer(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """Read an answer with a length, and return its status and body."""
    head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), PATIENCE_SECONDS)
    fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:-2])
    return int(head.split()[1]), await reader.readexactly(int(fields[b"content-length"]))


async def until_closed(reader: asyncio.StreamReader) -> bytes:
    return await asyncio.wait_for(reader.read(), PATIENCE_SECONDS)


@pytest.mark.parametrize("said", [b"", HALF_A_HEAD])
async def test_a_connection_with_an_incomplete_head_is_closed_after_the_time_limit(port: int, said: bytes) -> None:
    async with connected(port) as (reader, writer):
        writer.write(said)
        assert b" 408 " in (await until_closed(reader)).split(b"\r\n")[0]


async def test_a_head_that_arrives_slowly_is_cut_off(port: int) -> None:
    async def drip(writer: asyncio.StreamWriter) -> None:
        writer.write(HALF_A_HEAD)
        while True:
            await asyncio.sleep(HEAD_SECONDS / 10)
            writer.write(b"X-Slow: 1\r\n")

    async with connected(port) as (reader, writer):
        dripping = asyncio.create_task(drip(writer))
        assert b" 408 " in await until_closed(reader)
        dripping.cancel()


async def test_a_body_that_arrives_slowly_after_a_refusal_is_cut_off(port: int) -> None:
    """Send a request without a token, which is refused at once. More bytes of the body do not keep the connection."""
    async with connected(port) as (reader, writer):
        writer.write(b"POST /api/tasks HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n{")
        assert (await answer(reader))[0] == 401

        async def drip() -> None:
            while True:
                await asyncio.sleep(HEAD_SECONDS / 10)
                writer.write(b" ")

        dripping = asyncio.create_task(drip())
        assert b" 408 " in await until_closed(reader)
        dripping.cancel()


async def test_a_known_caller_can_pause_between_two_requests(server: Server, vc: str, port: int) -> None:
    async with connected(port) as (reader, writer):
        for _ in range(3):
            writer.write(request(server, f"/api/tasks?project={vc}"))
            assert (await answer(reader))[0] == 200
            await asyncio.sleep(HEAD_SECONDS * 1.5)  # the pause of a client has no event to wait for
        assert not reader.at_eof()


async def test_the_next_head_of_a_known_caller_has_a_time_limit_too(server: Server, vc: str, port: int) -> None:
    async with connected(port) as (reader, writer):
        writer.write(request(server, f"/api/tasks?project={vc}"))
        assert (await answer(reader))[0] == 200
        await asyncio.sleep(HEAD_SECONDS * 1.5)
        writer.write(HALF_A_HEAD)
        assert b" 408 " in await until_closed(reader)


async def test_a_stream_of_events_lasts_longer_than_the_time_limit_of_a_head(
    server: Server, dana: Caller, vc: str, port: int
) -> None:
    async with connected(port) as (reader, writer):
        writer.write(request(server, f"/api/events?project={vc}&follow=true", "Accept: text/event-stream"))
        await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), PATIENCE_SECONDS)
        await asyncio.sleep(HEAD_SECONDS * 2)
        await server.call(task_ops.CREATE, task_ops.CreateTask(project=vc, title="Heard"), caller=dana)
        assert b"Heard" in await asyncio.wait_for(reader.readuntil(b"Heard"), PATIENCE_SECONDS)


async def test_a_wait_that_is_longer_than_the_time_limit_of_a_head_is_answered(
    server: Server, dana: Caller, vc: str, port: int
) -> None:
    task = await server.call(task_ops.CREATE, task_ops.CreateTask(project=vc, title="t"), caller=dana)
    async with connected(port) as (reader, writer):
        writer.write(request(server, f"/api/tasks/wait?ids={task.id}&timeout=60000"))
        await asyncio.sleep(HEAD_SECONDS * 2)
        await server.call(task_ops.START, task_ops.StartTask(id=task.id), caller=dana)
        await server.call(task_ops.COMPLETE, task_ops.CompleteTask(id=task.id), caller=dana)
        status, body = await answer(reader)
        assert status == 200 and json.loads(body)


@pytest.fixture
def four_strangers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "http_head_seconds_max", PATIENCE_SECONDS, raising=False)
    monkeypatch.setattr(limits, "http_unidentified_connections_max", 4, raising=False)


@pytest.mark.usefixtures("four_strangers")  # the fixture must run before the server listens
async def test_the_oldest_unidentified_connections_are_closed_for_new_connections(
    server: Server, vc: str, port: int
) -> None:
    async with contextlib.AsyncExitStack() as stack:
        known = await stack.enter_async_context(connected(port))
        known[1].write(request(server, f"/api/tasks?project={vc}"))
        assert (await answer(known[0]))[0] == 200
        strangers = [await stack.enter_async_context(connected(port)) for _ in range(10)]
        for reader, _ in strangers[:6]:
            assert b" 503 " in await until_closed(reader)
        for reader, writer in (*strangers[6:], known):  # the remaining connections, and the known caller
            writer.write(request(server, f"/api/tasks?project={vc}"))
            assert (await answer(reader))[0] == 200


async def test_a_caller_with_a_wrong_token_stays_unidentified(server: Server, port: int) -> None:
    async with connected(port) as (reader, writer):
        writer.write(b"GET /api/tasks HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer wrong\r\n\r\n")
        assert (await answer(reader))[0] == 401
        assert b" 408 " in await until_closed(reader)


async def test_invalid_requests_write_a_single_line_into_the_log(port: int, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "uvicorn.error"):
        for _ in range(20):
            async with connected(port) as (reader, writer):
                writer.write(b"\x00 no request\r\n\r\n")
                assert b" 400 " in await until_closed(reader)
    assert len(caplog.records) == 1


@pytest.fixture
def cramped(tmp_path: Path) -> Iterator[LiveServer]:
    """Yield a server process that can open 256 files."""
    with LiveServer(tmp_path / "live", files_max=256) as running:
        yield running


def test_incomplete_connections_do_not_block_the_person(cramped: LiveServer) -> None:
    port = int(cramped.url.rpartition(":")[2])
    with contextlib.ExitStack() as stack:
        for _ in range(600):
            half = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS))
            half.sendall(HALF_A_HEAD)
        done = cramped.run_command("project", "list")
        assert done.returncode == 0, done.stderr.decode()
