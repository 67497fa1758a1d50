"""Mail over HTTP: durable sends compared with a bare route, and the time until a waiting recipient has the mail."""

from __future__ import annotations

import json
import socket
import statistics
import time
from typing import Any

from bench.http import CONNECTIONS, ROUNDS, SECONDS, post, rate_of, request, running_server, start_load
from bench.report import Figure

_PAIRS = 400
_PAUSE_SECONDS = 0.004


def sends() -> Figure:
    """Compare 64 sessions that send to each other with a route that does nothing."""
    durable, bare = [], []
    with running_server() as server:
        sessions = [_register(server, f"worker-{number}") for number in range(CONNECTIONS)]
        bodies = [_letter(session["id"]) for session in sessions]
        senders = [session["token"] for session in sessions[1:] + sessions[:1]]
        pairs = list(zip(bodies, senders, strict=True))
        nothing = [request(server, "/bare", body, token=token) for body, token in pairs]
        mail = [request(server, "/api/mail", body, token=token) for body, token in pairs]
        for _ in range(ROUNDS):
            bare.append(rate_of(start_load(server, nothing, SECONDS)))
            durable.append(rate_of(start_load(server, mail, SECONDS)))
    ratio = statistics.median(ours / theirs for ours, theirs in zip(durable, bare, strict=True))
    note = f"{statistics.median(durable):,.0f}/s durable, {statistics.median(bare):,.0f}/s bare"
    what = "durable sends over HTTP, 64 connections, against a bare Starlette POST route"
    return Figure(what, ratio, at_least=0.4, note=note)


def wake_up() -> Figure:
    """Compare the time from a send to the answer of the recipient's wait with a send to a session without a wait."""
    plain, woken = [], []
    with running_server() as server:
        waits, busy = _register(server, "waits"), _register(server, "busy")
        with _Line(server, server["token"]) as sender, _Line(server, waits["token"]) as receiver:
            for _ in range(_PAIRS):
                plain.append(_plain_send(sender, busy["id"]))
                woken.append(_send_to_waiting(sender, receiver, waits["id"]))
    p50_plain, p50_woken = statistics.median(plain), statistics.median(woken)
    note = f"p50 {p50_woken * 1000:.2f} ms to the wait's answer, {p50_plain * 1000:.2f} ms for a send's round trip"
    what = "from a send's request to the answer of a wait, against one durable send, p50"
    return Figure(what, p50_woken / p50_plain, at_most=2, note=note)


class _Line:
    """A keep-alive connection with hand-written requests, so that the client costs almost nothing."""

    def __init__(self, server: dict[str, Any], token: str) -> None:
        self._server = server
        self._token = token

    def __enter__(self) -> _Line:
        self._socket = socket.create_connection(("127.0.0.1", self._server["port"]))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def request(self, path: str, body: dict[str, Any]) -> bytes:
        return request(self._server, path, body, token=self._token).encode()

    def send(self, raw: bytes) -> None:
        self._socket.sendall(raw)

    def answer(self) -> bytes:
        """Return the complete body of the next answer."""
        head, _, body = self._socket.recv(1 << 16).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200"), head + body
        size = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        while len(body) < size:
            body += self._socket.recv(1 << 16)
        return body


def _plain_send(sender: _Line, session_id: str) -> float:
    raw = sender.request("/api/mail", _letter(session_id))
    time.sleep(_PAUSE_SECONDS)
    began = time.perf_counter()
    sender.send(raw)
    sender.answer()
    return time.perf_counter() - began


def _send_to_waiting(sender: _Line, receiver: _Line, session_id: str) -> float:
    """Measure a send to a waiting session. A pause lets the wait start, and a confirmation empties the inbox."""
    raw = sender.request("/api/mail", _letter(session_id))
    receiver.send(receiver.request("/api/mail/wait", {"debounce": 0, "timeout": 10_000}))
    time.sleep(_PAUSE_SECONDS)
    began = time.perf_counter()
    sender.send(raw)
    told = receiver.answer()
    taken = time.perf_counter() - began
    sent, received = json.loads(sender.answer()), json.loads(told)
    assert [message["id"] for message in received["messages"]] == [sent["id"]]
    receiver.send(receiver.request("/api/mail/confirm", {"receipt": received["receipt"]}))
    receiver.answer()
    return taken


def _register(server: dict[str, Any], name: str) -> dict[str, Any]:
    session: dict[str, Any] = post(server, "/api/sessions", {"name": name, "project": server["project"]})
    return session


def _letter(session_id: str) -> dict[str, Any]:
    return {"to": [session_id], "subject": "Grammar changed", "message": "Rebase before you go on."}
