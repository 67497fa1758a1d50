"""The handler of a connection serves commands over a real Unix socket, and ends with its client."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from maestro.core import limits
from maestro.operations.asks import AskList
from maestro.operations.server import StoppedServer
from maestro.operations.task_shapes import TaskList
from maestro.surfaces.cli import connection, invocation
from maestro.surfaces.cli.commands import CommandLine
from maestro.wire import frames
from maestro.wire.frames import pack_frame

SECONDS_MAX = 10


class Client:
    """The client's end of the socket."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    def ask(
        self, *arguments: str | bytes, protocol: str = "maestro/2", version: str = "1.2.3", tty: str = "000"
    ) -> None:
        head = [protocol, "python", version, tty, "0", "/src/dave/vc", "TERM=xterm"]
        words = [word.encode() if isinstance(word, str) else word for word in arguments]
        payload = "\0".join(head).encode() + b"\0\0" + b"".join(word + b"\0" for word in words)
        self.send(pack_frame(b"R", payload))

    def send(self, data: bytes) -> None:
        self.writer.write(data)

    async def frame(self) -> tuple[bytes, bytes]:
        async with asyncio.timeout(SECONDS_MAX):
            return await invocation.read_frame(self.reader)

    async def rest(self) -> dict[bytes, bytes]:
        """Return the joined payloads of all frames until the end of the connection, by kind."""
        found: dict[bytes, bytes] = {}
        while True:
            try:
                kind, payload = await self.frame()
            except asyncio.IncompleteReadError:
                return found
            found[kind] = found.get(kind, b"") + payload

    async def closed(self) -> bool:
        async with asyncio.timeout(SECONDS_MAX):
            try:
                return await self.reader.read() == b""
            except ConnectionError:
                return True


@pytest.fixture
async def connect(tmp_path: Path, cli: Any) -> AsyncIterator[Callable[[], Any]]:
    """Start a server on a socket. Yield a function that connects a client to the server."""
    path = str(tmp_path / "sock")
    running: set[asyncio.Task[None]] = set()
    clients: list[Client] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        running.add(task)
        await connection.serve_connection(reader, writer, cli.commands)

    async def client() -> Client:
        clients.append(Client(*await asyncio.open_unix_connection(path)))
        return clients[-1]

    server = await asyncio.start_unix_server(serve, path)
    yield client
    for one in clients:
        one.writer.close()
    async with asyncio.timeout(SECONDS_MAX):
        await asyncio.gather(*running)  # fails if a handler hangs or ends with an exception
    server.close()
    await server.wait_closed()


class Waiting:
    """An operation that waits until it is cancelled, and records the cancellation."""

    def __init__(self) -> None:
        self.started = asyncio.Event()
        self.cancelled = asyncio.Event()

    async def __call__(self, _request: Any) -> None:
        self.started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise


async def within(event: asyncio.Event) -> None:
    async with asyncio.timeout(SECONDS_MAX):
        await event.wait()


async def test_a_command_is_answered_with_its_output_and_its_exit_code(connect: Any, app: Any) -> None:
    app.answers["task.list"] = TaskList(tasks=[])
    client = await connect()
    client.ask("task", "list", "--json")
    assert await client.rest() == {b"O": b'{"cursor":null,"tasks":[]}\n', b"X": b"0"}


async def test_the_system_attests_the_peer_of_a_connection(connect: Any, app: Any) -> None:
    app.answers["task.list"] = TaskList(tasks=[])
    client = await connect()
    client.ask("task", "list")
    await client.rest()
    [(token, peer)] = app.asked
    assert token == ""
    assert (peer.uid, peer.pid) == (os.getuid(), os.getpid())


async def test_a_local_command_is_handed_back_to_the_client(connect: Any) -> None:
    client = await connect()
    client.ask("up", "--port", "1")
    assert await client.rest() == {b"L": b""}


async def test_the_operation_is_cancelled_when_the_client_closes_the_connection(connect: Any, app: Any) -> None:
    app.answers["task.wait"] = waiting = Waiting()
    client = await connect()
    client.ask("task", "wait", "#1")
    await within(waiting.started)
    client.writer.close()
    await within(waiting.cancelled)


async def test_an_unknown_frame_during_a_command_cancels_the_command(connect: Any, app: Any) -> None:
    app.answers["task.wait"] = waiting = Waiting()
    client = await connect()
    client.ask("task", "wait", "#1")
    await within(waiting.started)
    assert (await client.frame())[0] == frames.WAITING
    client.send(pack_frame(b"Q", b"?"))
    await within(waiting.cancelled)
    assert await client.closed()


async def test_unrequested_input_during_a_command_cancels_the_command(connect: Any, app: Any) -> None:
    app.answers["task.wait"] = waiting = Waiting()
    client = await connect()
    client.ask("task", "wait", "#1")
    await within(waiting.started)
    client.send(pack_frame(b"D", b"x"))
    await within(waiting.cancelled)


@pytest.mark.parametrize(
    "garbage",
    [
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"R\xff\xff\xff\xff",
        pack_frame(b"D", b"data first"),
        pack_frame(b"R", b"not a request"),
        pack_frame(b"R", b"maestro/2\0\0"),
    ],
)
async def test_a_connection_with_an_invalid_request_is_closed(connect: Any, garbage: bytes) -> None:
    client = await connect()
    client.send(garbage)
    assert await client.closed()


async def test_an_incomplete_request_is_dropped(connect: Any, app: Any) -> None:
    client = await connect()
    client.send(b"R\0\0\0\x40maestro/2")
    client.writer.write_eof()
    assert await client.closed()
    assert app.asked == []


async def test_a_connection_without_a_request_is_closed_after_a_time(
    connect: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "first_frame_seconds_max", 0.01)
    client = await connect()
    assert await client.closed()


async def test_a_client_with_another_protocol_gets_an_error_with_a_remedy(connect: Any) -> None:
    client = await connect()
    client.ask("task", "list", protocol="maestro/9", version="9.0")
    found = await client.rest()
    assert found[b"X"] == b"1"
    for word in (b"maestro/9", b"9.0", b"maestro/2", b"1.2.3", b"maestro down"):
        assert word in found[b"E"]


async def test_a_client_with_another_protocol_can_stop_the_server(connect: Any, app: Any) -> None:
    app.answers["server.stop"] = StoppedServer(pid=7)
    client = await connect()
    client.ask("down", protocol="maestro/9")
    assert (await client.rest())[b"X"] == b"0"


@pytest.mark.parametrize(
    ("tty", "version", "noted"), [("001", "0.9", True), ("000", "0.9", False), ("001", "1.2.3", False)]
)
async def test_a_client_of_another_version_gets_a_note_on_a_terminal(
    connect: Any, app: Any, tty: str, version: str, noted: bool
) -> None:
    app.answers["task.list"] = TaskList(tasks=[])
    app.answers["ask.list"] = AskList(asks=[])
    client = await connect()
    client.ask("task", "list", "--json", tty=tty, version=version)
    assert (b"E" in await client.rest()) is noted


async def test_standard_input_is_fetched_from_the_client(connect: Any, app: Any) -> None:
    async def answer(request: Any) -> TaskList:
        return TaskList(tasks=[])

    app.answers["task.report"] = answer
    client = await connect()
    client.ask("task", "report", "progress", "#1", "-")
    assert await client.frame() == (b"I", b"")
    client.send(pack_frame(b"D", b"half ") + pack_frame(b"D", b"done\n") + pack_frame(b"D"))
    assert (await client.rest())[b"X"] == b"0"
    assert app.last.request.text == "half done"


async def test_a_file_is_fetched_by_the_path_of_the_client(connect: Any, app: Any) -> None:
    app.answers["task.docs.add"] = TaskList(tasks=[])
    client = await connect()
    client.ask("task", "docs", "add", "#1", "Report", "--file", "../out/r.bin")
    assert await client.frame() == (b"F", b"../out/r.bin")
    client.send(pack_frame(b"D", b"\x00\xff") + pack_frame(b"D"))
    assert (await client.rest())[b"X"] == b"0"
    assert app.last.request.content == b"\x00\xff"
    assert app.last.request.file_name == "r.bin"


async def test_a_file_that_cannot_be_read_is_a_usage_error(connect: Any, app: Any) -> None:
    client = await connect()
    client.ask("task", "docs", "add", "#1", "Report", "--file", "gone")
    await client.frame()
    client.send(pack_frame(b"N", b"No such file or directory: gone"))
    found = await client.rest()
    assert found == {b"E": b"maestro: No such file or directory: gone\n", b"X": b"2"}


async def test_input_above_the_limit_is_refused_before_its_end(
    connect: Any, app: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "stdin_bytes_max", 1000)
    client = await connect()
    client.ask("task", "report", "progress", "#1", "-")
    await client.frame()
    for _ in range(50):
        client.send(pack_frame(b"D", b"x" * 100))
    kind, said = await client.frame()
    assert kind == b"E" and b"larger than" in said
    assert await client.frame() == (b"X", b"2")


async def test_the_handler_ends_when_the_client_leaves_while_it_sends_input(connect: Any) -> None:
    client = await connect()
    client.ask("task", "report", "progress", "#1", "-")
    await client.frame()
    client.send(pack_frame(b"D", b"half"))
    client.writer.close()
    # The fixture fails if the handler does not end.


async def test_the_client_is_asked_to_confirm_its_output(connect: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run(self: CommandLine, invocation: Any, channel: Any, *, peer: Any) -> int:
        await channel.write_out("body")
        return 0 if await channel.confirm_output() else 7

    monkeypatch.setattr(CommandLine, "run_command", run)
    client = await connect()
    client.ask("mail", "inbox")
    assert await client.frame() == (b"O", b"body")
    assert await client.frame() == (b"C", b"")
    client.send(pack_frame(b"C"))
    assert await client.frame() == (b"X", b"0")


async def test_a_client_that_reads_slowly_slows_down_the_command(
    connect: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = 0
    ended = asyncio.Event()

    async def run(self: CommandLine, invocation: Any, channel: Any, *, peer: Any) -> int:
        nonlocal written
        try:
            for _ in range(1000):
                await channel.write_out(b"x" * 100_000)
                written += 100_000
        finally:
            ended.set()
        return 0

    monkeypatch.setattr(CommandLine, "run_command", run)
    client = await connect()
    client.reader._limit = 1000  # a small read buffer, so that the buffer of the socket fills
    client.ask("events")
    await client.frame()
    client.writer.transport.abort()
    await within(ended)
    assert written < 50_000_000
