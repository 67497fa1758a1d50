"""Clients that end during waits and sends lose no mail, send no mail twice and leave no connection."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from maestro.testing.live import PYTHON_CLIENT, LiveServer
from maestro.testing.mcp_wire import McpWire, tool_call_message

CLIENTS = 100
PATIENCE_SECONDS = 60


def joined(api: httpx.Client, name: str) -> str:
    token: str = api.post("/api/sessions", json={"project": "vc", "name": name, "parent": "boss"}).json()["token"]
    return token


def until(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def subjects_sent(api: httpx.Client) -> list[str]:
    """Return the subjects of all mail to the coordinator."""
    found: list[str] = []
    cursor = ""
    while True:
        page = api.get(
            "/api/mail/inbox", params={"of": "boss", "project": "vc", "peek": True, "limit": 500, "cursor": cursor}
        ).json()
        found += [one["subject"] for one in page["messages"]]
        if not page["more"]:
            return found
        cursor = page["cursor"]


@pytest.mark.slow
def test_a_hundred_http_clients_that_hang_up_lose_no_mail_and_send_none_twice(
    live: LiveServer, api: httpx.Client, tokens: dict[str, str]
) -> None:
    wires = [McpWire(live, joined(api, f"w{number}")) for number in range(CLIENTS)]
    sessions = [wire.initialize_session() for wire in wires]
    socks = []
    for number, (wire, headers) in enumerate(zip(wires, sessions, strict=True)):
        socks.append(wire.send_request_only(tool_call_message("wait", {"timeout": 300}, "w"), headers))
        letter = {"to": ["boss"], "subject": f"from {number}", "message": "x"}
        socks.append(wire.send_request_only(tool_call_message("send", letter, "s"), headers))
    for sock in socks:
        sock.close()
    expected = {f"from {number}" for number in range(CLIENTS)}
    # Requests that reached the server are carried out once. A client would send the other requests again.
    until(lambda: len(subjects_sent(api)) == len(set(subjects_sent(api))), "something was sent twice")
    assert set(subjects_sent(api)) <= expected
    for number, wire in enumerate(wires):
        api.post("/api/mail", json={"to": [f"w{number}"], "project": "vc", "subject": "Still here?", "message": "y"})
        assert (
            "Still here?" in wire.post_message(tool_call_message("inbox"), headers=sessions[number]).text
        )  # no wait of an ended client took the mail
        assert wire.delete_session(sessions[number]) == 200
        wire.http.close()
    assert len(subjects_sent(api)) == len(set(subjects_sent(api)))


@pytest.mark.slow
def test_a_hundred_killed_stdio_clients_lose_no_mail_and_leave_no_connection(
    live: LiveServer, api: httpx.Client, tokens: dict[str, str]
) -> None:
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "b", "version": "1"}}

    def begin(number: int) -> subprocess.Popen[bytes]:
        environment = live.environment(MAESTRO_TOKEN=joined(api, f"p{number}"))
        pipe = subprocess.Popen(
            [*PYTHON_CLIENT, "mcp"], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert pipe.stdin
        messages: list[dict[str, Any]] = [
            {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello},
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            tool_call_message("wait", {"timeout": 300}, "w"),
            tool_call_message("send", {"to": ["boss"], "subject": f"from {number}", "message": "x"}, "s"),
        ]
        pipe.stdin.write(b"".join(json.dumps(message).encode() + b"\n" for message in messages))
        pipe.stdin.flush()
        return pipe

    with ThreadPoolExecutor(8) as pool:
        pipes = list(pool.map(begin, range(CLIENTS)))
    until(lambda: len(subjects_sent(api)) >= CLIENTS // 2, "half of them have sent")
    for pipe in pipes:
        os.kill(pipe.pid, signal.SIGKILL)
    for pipe in pipes:
        pipe.wait()
        for stream in (pipe.stdin, pipe.stdout):
            with contextlib.suppress(BrokenPipeError):
                stream.close()  # type: ignore[union-attr]
    found = subjects_sent(api)
    assert len(found) == len(set(found))
    assert live.process is not None
    unix = f"/proc/{live.process.pid}/fd"
    until(lambda: len(os.listdir(unix)) < CLIENTS // 2, "connections are left behind")  # noqa: PTH208
    for number in range(CLIENTS):
        api.post("/api/mail", json={"to": [f"p{number}"], "project": "vc", "subject": "Still here?", "message": "y"})
        left = api.get("/api/mail/inbox", params={"of": f"p{number}", "project": "vc", "peek": True}).json()
        assert [one["subject"] for one in left["messages"]] == [
            "Still here?"
        ]  # no wait of a killed client took the mail


def test_a_wait_over_http_can_be_repeated_after_a_restart_of_the_server(live: LiveServer, wire: McpWire) -> None:
    headers = wire.initialize_session()
    with wire.send_request_only(tool_call_message("wait", {"timeout": 300}, "w"), headers):
        time.sleep(0.2)
        live.kill()
        live.start()
    letter = {"to": ["w"], "project": "vc", "subject": "Hi", "message": "There."}
    with httpx.Client(headers={"Authorization": f"Bearer {live.token}"}) as api:
        assert api.post(f"{live.url}/api/mail", json=letter).status_code == 200
    assert "There." in wire.post_message(tool_call_message("wait", {"timeout": 20}), headers=headers).text
