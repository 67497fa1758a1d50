"""`maestro mcp` offers the same tools over TCP when only MAESTRO_SERVER_URL and a token are set."""

from __future__ import annotations

import asyncio
import json
import queue
import subprocess
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import httpx
import pytest

from maestro.client import mcp_bridge
from maestro.testing.live import PYTHON_CLIENT, LiveServer
from maestro.testing.mcp import LEGACY, MODERN, connected_client, text_of

# The client warns about features that protocol version 2026-07-28 removed.
pytestmark = pytest.mark.filterwarnings("ignore:.*removed as of 2026-07-28")

PATIENCE_SECONDS = 60
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "b", "version": "1"}}


@pytest.fixture
def tokens(live: LiveServer, tmp_path: Path) -> dict[str, str]:
    """Return the tokens of a coordinator `boss` and its worker `w`, in the project `vc`."""
    (tmp_path / "vc").mkdir()
    headers = {"Authorization": f"Bearer {live.token}"}
    with httpx.Client(base_url=live.url, headers=headers, timeout=60) as api:
        assert api.post("/api/projects", json={"path": str(tmp_path / "vc"), "name": "vc"}).status_code == 200
        coordinator = {"project": "vc", "name": "boss", "mode": "coordinate", "grant": "full"}
        boss = api.post("/api/sessions", json=coordinator).json()
        worker = api.post("/api/sessions", json={"project": "vc", "name": "w", "parent": "boss"}).json()
    return {"boss": boss["token"], "w": worker["token"]}


def exchange_messages(
    live: LiveServer, *messages: dict[str, Any], **variables: str
) -> subprocess.CompletedProcess[bytes]:
    """Run the bridge with some messages and the end of input."""
    environment = live.environment(MAESTRO_HOME="/nowhere", MAESTRO_SERVER_URL=live.url) | variables
    lines = b"".join(json.dumps({"jsonrpc": "2.0"} | message).encode() + b"\n" for message in messages)
    return subprocess.run(
        [*PYTHON_CLIENT, "mcp"],
        env=environment,
        input=lines,
        capture_output=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )


@pytest.mark.parametrize("mode", [LEGACY, MODERN])
async def test_tools_resources_waits_and_notifications_work_over_tcp(
    live: LiveServer, tokens: dict[str, str], mode: str
) -> None:
    heard: list[Any] = []
    async with (
        asyncio.timeout(PATIENCE_SECONDS),
        connected_client(live, "elsewhere", mode, tokens["w"], heard=heard.append) as worker,
        connected_client(live, "elsewhere", mode, tokens["boss"]) as boss,
    ):
        assert "spawn" not in [tool.name for tool in (await worker.list_tools()).tools]
        assert "You are w" in text_of(await worker.call_tool("whoami", {}))
        if mode == LEGACY:
            await worker.subscribe_resource("maestro://inbox")
        waits = asyncio.create_task(worker.call_tool("wait", {"timeout": 50}))
        await asyncio.sleep(0.2)
        letter = {"to": ["w"], "subject": "Hi", "message": "There."}
        message = text_of(await boss.call_tool("send", letter)).split()[0]
        assert "  | There." in text_of(await waits)
        assert "no mail" in text_of(await worker.call_tool("inbox", {}))
        assert "w  read" in text_of(await boss.call_tool("mail", {"action": "status", "id": message}))
        (content,) = (await worker.read_resource("maestro://primer")).contents
        assert "You are w" in content.text
        while mode == LEGACY and not heard:
            text_of(await boss.call_tool("send", letter))  # the stream may have opened after the first mail
            await asyncio.sleep(0.2)


async def test_a_wait_survives_a_restart_of_the_server(live: LiveServer, tokens: dict[str, str]) -> None:
    port = int(live.url.rpartition(":")[2])
    async with asyncio.timeout(PATIENCE_SECONDS), connected_client(live, "elsewhere", LEGACY, tokens["w"]) as worker:
        waits = asyncio.create_task(worker.call_tool("wait", {"timeout": 50}))
        await asyncio.sleep(0.3)
        await asyncio.to_thread(live.kill)
        await asyncio.to_thread(live.start, port=port)
        letter = {"to": ["w"], "project": "vc", "subject": "Hi", "message": "There."}
        async with httpx.AsyncClient(headers={"Authorization": f"Bearer {live.token}"}) as api:
            assert (await api.post(f"{live.url}/api/mail", json=letter)).status_code == 200
        assert "  | There." in text_of(await waits)


def test_a_missing_token_a_wrong_address_and_a_wrong_token_are_named(
    live: LiveServer, tokens: dict[str, str]
) -> None:
    hello = {"id": 0, "method": "initialize", "params": HELLO}
    without = exchange_messages(live, hello)
    assert without.returncode == 2 and b"set MAESTRO_TOKEN" in without.stderr
    odd = exchange_messages(live, hello, MAESTRO_TOKEN="x", MAESTRO_SERVER_URL="somewhere")
    assert odd.returncode == 2 and b"not a server's address" in odd.stderr
    forged = exchange_messages(live, hello, MAESTRO_TOKEN="mst_none")
    assert "token is not valid" in json.loads(forged.stdout)["error"]["message"]
    ready = {"method": "notifications/initialized"}
    good = exchange_messages(live, hello, ready, {"id": 1, "method": "tools/list"}, MAESTRO_TOKEN=tokens["w"])
    answers = [json.loads(line) for line in good.stdout.splitlines()]
    assert [answer["id"] for answer in answers] == [0, 1] and answers[1]["result"]["tools"]


class OneAnswerServer(BaseHTTPRequestHandler):
    """A server that answers each request with a result, as JSON or as a stream of events."""

    protocol_version = "HTTP/1.1"
    content_type = "application/json"
    ports: ClassVar[queue.Queue[int]]

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.ports.put(self.client_address[1])
        body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {}}).encode()
        self.send_response(200)
        self.send_header("content-type", self.content_type)
        if "event-stream" in self.content_type:
            body = b"event: message\ndata: " + body + b"\n\n"
            body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
            self.send_header("transfer-encoding", "chunked")
        else:
            self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        """Suppress the log lines of the base class."""


@pytest.mark.parametrize("content_type", ["application/json", "text/event-stream"])
def test_a_call_right_after_a_result_uses_the_connection_of_that_result(
    content_type: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server takes a call over the same connection as the proof that the program has read the result."""
    ports: queue.Queue[int] = queue.Queue()
    handler = type("Handler", (OneAnswerServer,), {"content_type": content_type, "ports": ports})
    seen: list[int] = []
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        bridge = mcp_bridge.Bridge(urllib.parse.urlsplit(f"http://127.0.0.1:{server.server_port}"), "mst_x")

        def call_again(descriptor: int, data: bytes) -> None:
            if json.loads(data)["id"] == 1:
                bridge.send_message(b'{"jsonrpc": "2.0", "id": 2, "method": "ping"}\n')
                seen.extend(ports.get(timeout=PATIENCE_SECONDS) for _ in range(2))

        monkeypatch.setattr(mcp_bridge.main, "write_all", call_again)
        bridge._exchange_message(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n', {"id": 1, "method": "ping"})
        bridge.end_session()
        for connection in bridge._idle:
            connection.close()
        server.shutdown()
    assert len(seen) == 2 and seen[0] == seen[1]


class CutOffServer(OneAnswerServer):
    """A server that ends the first stream of events before the result, as a killed server does."""

    calls: ClassVar[list[bytes]] = []

    def do_POST(self) -> None:
        self.calls.append(b"")
        if len(self.calls) > 1:
            return super().do_POST()
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", self.content_type)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        self.close_connection = True
        return None


@pytest.mark.parametrize(("tool", "outcome"), [("wait", "result"), ("send", "error")])
def test_a_stream_that_ends_without_a_result_is_repeated_for_a_wait_and_an_error_for_other_calls(
    tool: str, outcome: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fields = {"content_type": "text/event-stream", "ports": queue.Queue(), "calls": []}
    handler = type("Handler", (CutOffServer,), fields)
    written: list[dict[str, Any]] = []
    monkeypatch.setattr(mcp_bridge.main, "write_all", lambda descriptor, data: written.append(json.loads(data)))
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool}}
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        bridge = mcp_bridge.Bridge(urllib.parse.urlsplit(f"http://127.0.0.1:{server.server_port}"), "mst_x")
        bridge._exchange_message(json.dumps(message).encode(), message)
        bridge.end_session()
        for connection in bridge._idle:
            connection.close()
        server.shutdown()
    assert len(written) == 1 and outcome in written[0]
