"""A waiting command repeats its request to the next server, with the remaining time."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from maestro.client.main import CommandEnded
from maestro.client.wait_again import repeat_request
from maestro.testing.frames import ClientRequest, FrameServer, ScriptedConnection


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MAESTRO_WAIT_UNTIL", "1")
    monkeypatch.setenv("MAESTRO_WAIT_LEFT", "1")  # set here, so that monkeypatch restores the variable
    return tmp_path / "s.sock"


def answer(connection: ScriptedConnection, request: ClientRequest) -> None:
    connection.send_frame(b"O", b"done\n")
    connection.send_exit(3)


def test_the_next_server_gets_the_request_with_the_remaining_time(
    path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with FrameServer(path, answer) as server:
        assert repeat_request(["task", "wait", "#1"], str(path), until=time.time() + 60) == 3
    (request,) = server.requests
    assert request.arguments == [b"task", b"wait", b"#1"] and capfd.readouterr().out == "done\n"
    assert 50_000 < int(request.variables[b"MAESTRO_WAIT_LEFT"]) <= 60_000
    assert b"MAESTRO_WAIT_UNTIL" not in request.variables


def test_a_waiting_command_connects_to_a_server_that_starts_later(path: Path) -> None:
    codes: list[int] = []
    waiting = threading.Thread(
        target=lambda: codes.append(repeat_request(["x"], str(path), until=time.time() + 30)), daemon=True
    )
    waiting.start()
    with FrameServer(path, answer):
        waiting.join(20)
    assert codes == [3]


def test_the_request_is_repeated_when_a_server_closes_the_connection_without_an_answer(path: Path) -> None:
    requests: list[ClientRequest] = []

    def script(connection: ScriptedConnection, request: ClientRequest) -> None:
        requests.append(request)
        if len(requests) > 1:
            answer(connection, request)

    with FrameServer(path, script):
        assert repeat_request(["x"], str(path), until=time.time() + 30) == 3
    assert len(requests) == 2


@pytest.mark.parametrize("seconds", [-1.0, 0.2])
def test_a_waiting_command_ends_when_no_server_starts_in_time(path: Path, seconds: float) -> None:
    with pytest.raises(CommandEnded, match="did not come back in time") as ended:
        repeat_request(["x"], str(path), until=time.time() + seconds)
    assert ended.value.code == 8
