"""Receipts over real HTTP: mail is read only when the client has proved to have the answer."""

from __future__ import annotations

import json
import socket
import struct
import sys
import time
from pathlib import Path

import httpx
import pytest

from maestro.testing.live import LiveServer
from maestro.testing.mcp_wire import McpWire, message_of, tool_call_message


def test_mail_is_read_when_the_client_calls_again_over_the_same_connection(
    wire: McpWire, api: httpx.Client, live: LiveServer, tokens: dict[str, str]
) -> None:
    def sent() -> str:
        letter = {"to": ["w"], "project": "vc", "subject": "Hi", "message": "There."}
        message: str = api.post("/api/mail", json=letter).json()["id"]
        return message

    def status(message: str) -> str:
        (one,) = api.get(f"/api/mail/{message}/status").json()["deliveries"]
        word: str = one["status"]
        return word

    headers = wire.initialize_until_fast("2025-11-25")
    first = sent()
    assert "There." in wire.post_message(tool_call_message("inbox"), headers=headers).text
    deadline = time.monotonic() + 20
    while status(first) != "delivered" and time.monotonic() < deadline:
        time.sleep(0.01)
    assert status(first) == "delivered"
    # A call over another connection may have been sent before the answer, and proves nothing.
    with McpWire(live, tokens["w"]).http as other:
        said = {"Authorization": f"Bearer {tokens['w']}", "Content-Type": "application/json", "Accept": "*/*"}
        other.post(f"{live.url}/mcp", content=json.dumps(tool_call_message("whoami")), headers=said | headers)
    assert status(first) == "delivered"
    # A call over the same connection comes after the client has read the answer.
    wire.post_message(tool_call_message("whoami"), headers=headers)
    assert status(first) == "read"
    second = sent()
    text = message_of(wire.post_message(tool_call_message("wait", {"timeout": 20}), headers=headers))["result"][
        "content"
    ][0]["text"]
    assert "There." in text
    assert "no mail" in wire.post_message(tool_call_message("inbox"), headers=headers).text
    assert status(second) == "read"


def hang_up(how: str, sock: socket.socket) -> None:
    """Close a connection as clients do: at once, with a reset, or after a shutdown."""
    if how == "reset":
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    elif how == "shutdown":
        sock.shutdown(socket.SHUT_RDWR)
    sock.close()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says how a connection ended")
@pytest.mark.parametrize("how", ["close", "reset", "shutdown"])
def test_mail_in_an_unread_answer_is_offered_again(
    live: LiveServer, api: httpx.Client, project: Path, how: str
) -> None:
    """Cut the connection before, while and after the answer is sent; then call over another connection."""
    gone: list[tuple[McpWire, dict[str, str], str]] = []
    for step, seconds in enumerate((0, 0.0005, 0.001, 0.002, 0.004, 0.008, 0.02, 0.1)):
        asked = {"project": "vc", "name": f"{how}-{step}"}
        wire = McpWire(live, api.post("/api/sessions", json=asked).json()["token"])
        headers = wire.initialize_session()
        letter = {"to": [asked["name"]], "project": "vc", "subject": "Hi", "message": "There."}
        message = api.post("/api/mail", json=letter).json()["id"]
        cut = wire.send_request_only(tool_call_message("inbox"), headers)
        time.sleep(seconds)
        hang_up(how, cut)
        gone.append((wire, headers, message))
    time.sleep(1.2)  # longer than a call can be in transit
    for wire, headers, message in gone:
        assert wire.post_message(tool_call_message("whoami", id=2), headers=headers).status_code == 200
        (one,) = api.get(f"/api/mail/{message}/status").json()["deliveries"]
        assert one["status"] in ("sent", "delivered")
        assert "There." in wire.post_message(tool_call_message("inbox", id=3), headers=headers).text
        wire.http.close()


def test_mail_is_read_when_the_client_closes_after_reading_its_answer(
    live: LiveServer, api: httpx.Client, project: Path
) -> None:
    wire = McpWire(live, api.post("/api/sessions", json={"project": "vc", "name": "reader"}).json()["token"])
    headers = wire.initialize_session()
    letter = {"to": ["reader"], "project": "vc", "subject": "Hi", "message": "There."}
    message = api.post("/api/mail", json=letter).json()["id"]
    with wire.send_request_only(tool_call_message("inbox"), headers) as sock:
        said = b""
        while b"There." not in said:
            said += sock.recv(65536)
    time.sleep(1.2)
    assert wire.post_message(tool_call_message("whoami", id=2), headers=headers).status_code == 200
    (one,) = api.get(f"/api/mail/{message}/status").json()["deliveries"]
    assert one["status"] == "read"
    wire.http.close()
