"""`maestro down` ends within seconds while clients hold connections open, and leaves no traceback in the log."""

from __future__ import annotations

import contextlib
import json
import socket
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from maestro.testing.live import LiveServer
from maestro.testing.raw import RawCommand

DOWN_SECONDS_MAX = 3.0


class Clients:
    """Clients that hold connections open and never close them."""

    def __init__(self, live: LiveServer) -> None:
        self._live = live
        self._address = (urlsplit(live.url).hostname, urlsplit(live.url).port)
        self._open = contextlib.ExitStack()

    def http(self, verb: str, path: str, *, body: str = "", length: int = 0, accept: str = "*/*") -> socket.socket:
        """Send a request whose body may be incomplete."""
        head = (
            f"{verb} {path} HTTP/1.1\r\nHost: {self._address[0]}:{self._address[1]}\r\n"
            f"Authorization: Bearer {self._live.token}\r\nAccept: {accept}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {length or len(body)}\r\n\r\n"
        )
        return self.raw((head + body).encode())

    def raw(self, data: bytes) -> socket.socket:
        sock = self._open.enter_context(socket.create_connection(self._address))
        sock.sendall(data)
        return sock

    def command(self, *words: str) -> None:
        """Send a command as a client does. A real client that waits would start the next server."""
        made = RawCommand(self._live.home / "maestro.sock", *words, environment=self._live.environment())
        self._open.callback(made.sock.close)

    def unix(self, data: bytes) -> None:
        sock = self._open.enter_context(socket.socket(socket.AF_UNIX))
        sock.connect(str(self._live.home / "maestro.sock"))
        sock.sendall(data)

    def close(self) -> None:
        self._open.close()


@pytest.fixture
def clients(live: LiveServer) -> Iterator[Clients]:
    made = Clients(live)
    yield made
    made.close()


def test_down_does_not_wait_for_hanging_clients(live: LiveServer, clients: Clients, connect: Any, init: Any) -> None:
    api = connect(live)
    project = init(api, "vc")
    api.call("POST", "/api/tasks", project=project, title="t")
    for _ in range(3):
        wait = json.dumps({"id": ["#1"], "project": project, "timeout": 600_000})
        clients.http("POST", "/api/tasks/wait", body=wait)
        stream = clients.http("GET", f"/api/events?project={project}", accept="text/event-stream")
        clients.raw(b"POST /api/tasks HTTP/1.1\r\nHost: 127.0.0.1\r\nAuth")
        clients.http("POST", "/api/tasks", body='{"title": "', length=10_000_000)
        clients.http("POST", "/mcp", body="{", length=1000)
        clients.http("POST", "/hooks/claude", body="{", length=1000)
        clients.command("mail", "wait", "--timeout", "10m")
        clients.command("events", "--follow")
        clients.unix(b"R\x00\x00")
    assert stream.recv(4096).startswith(b"HTTP/1.1 200")
    begun = time.monotonic()
    done = live.run_command("down")
    assert (done.returncode, done.stderr) == (0, b"")
    assert live.process is not None
    live.process.wait(30)
    took = time.monotonic() - begun
    said = (live.home / "server.log").read_text()
    assert "Traceback" not in said and "ERROR" not in said, said
    assert took < DOWN_SECONDS_MAX, f"the stop took {took:.1f} s"


def test_a_client_that_reads_no_answers_does_not_delay_the_stop(
    live: LiveServer, clients: Clients, connect: Any, init: Any
) -> None:
    """Unread answers fill the buffers of the sockets."""
    api = connect(live)
    project = init(api, "vc")
    for number in range(20):
        api.call("POST", "/api/tasks", project=project, title=f"t{number}", description="x" * 100_000)
    tasks = api.tasks(project)
    for _ in range(3):
        greedy = clients.raw(b"")
        greedy.settimeout(0.2)
        head = f"GET /api/tasks/{tasks[0]['id']} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {live.token}\r\n\r\n"
        with contextlib.suppress(TimeoutError):
            for _ in range(200):
                greedy.sendall(head.encode())
    begun = time.monotonic()
    live.stop()
    took = time.monotonic() - begun
    said = (live.home / "server.log").read_text()
    assert "Traceback" not in said and "ERROR" not in said, said
    assert took < DOWN_SECONDS_MAX, f"the stop took {took:.1f} s"
