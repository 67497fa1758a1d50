"""The control socket of a real runner refuses invalid requests."""

from __future__ import annotations

import json
from collections.abc import Callable

from maestro.testing.supervised import SupervisedRunner, receive_frame

Supervise = Callable[..., SupervisedRunner]


def test_invalid_requests_are_refused_and_the_runner_continues(supervise: Supervise) -> None:
    runner = supervise("cat")
    runner.wait_for_report("started")
    assert runner.send_request(do="fly") == {"ok": False, "problem": "this runner cannot carry out the request 'fly'"}
    for payload in (
        b"{",
        b"[]",
        b"3",
        b'{"do": "write"}',
        b'{"do": "write", "data": "%%%"}',
    ):
        with runner.connect() as sock:
            sock.sendall(b"Q" + len(payload).to_bytes(4, "big") + payload)
            kind, answer = receive_frame(sock)
            assert kind == b"A" and json.loads(answer)["ok"] is False
    with runner.connect() as sock:
        sock.sendall(b"Q\xff\xff\xff\xff")
        assert sock.recv(1) == b""
    assert runner.send_request(do="state")["program"] == runner.wait_for_report("started")["pid"]
