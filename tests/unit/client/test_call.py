"""A runner sends a command to the server and gets its output, its exit code, or an error of the connection."""

from __future__ import annotations

from pathlib import Path

import pytest

from maestro.client.call import CommandAnswer, caller_variables, run_on_server
from maestro.testing.frames import ClientRequest, FrameServer, Script, ScriptedConnection
from maestro.wire import frames


def run(folder: Path, script: Script, *arguments: str) -> tuple[CommandAnswer, ClientRequest]:
    """Run a command against a scripted server. Return the answer and the request that the server received."""
    with FrameServer(folder / "s.sock", script) as server:
        answer = run_on_server(
            list(arguments), socket_path=str(folder / "s.sock"), environment={"MAESTRO_TOKEN": "mst_x"}
        )
    return answer, server.requests[0]


def test_the_request_names_the_client_runner_the_variables_and_the_arguments(tmp_path: Path) -> None:
    _, request = run(tmp_path, lambda connection, request: connection.send_exit(0), "session", "report", "", "ä")
    assert request.client == b"runner" and request.terminals == b"000"
    assert request.variables == {b"MAESTRO_TOKEN": b"mst_x"}
    assert request.arguments == [b"session", b"report", b"", "ä".encode()]


def test_only_set_variables_identify_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAESTRO_TOKEN", "mst_x")
    monkeypatch.setenv("MAESTRO_SESSION_ID", "")
    monkeypatch.setenv("MAESTRO_PROJECT_ID", "prj_1")
    assert caller_variables() == {"MAESTRO_TOKEN": "mst_x"}


def test_the_answer_holds_output_errors_and_exit_code_of_the_server(tmp_path: Path) -> None:
    def script(connection: ScriptedConnection, request: ClientRequest) -> None:
        for kind, payload in ((b"O", b"one "), (b"E", b"problem"), (b"W", b"1"), (b"O", b"x" * 200_000)):
            connection.send_frame(kind, payload)
        connection.send_exit(5)

    answer, _ = run(tmp_path, script)
    assert (answer.code, answer.out, answer.err) == (5, b"one " + b"x" * 200_000, b"problem")


def test_the_command_confirms_its_output_when_the_server_asks_for_it(tmp_path: Path) -> None:
    confirmed = []

    def script(connection: ScriptedConnection, request: ClientRequest) -> None:
        connection.send_frame(frames.CONFIRM)
        confirmed.append(connection.receive_frame())
        connection.send_exit(0)

    run(tmp_path, script)
    assert confirmed == [(frames.CONFIRMED, b"")]


@pytest.mark.parametrize("kind", [frames.STDIN, frames.FILE, frames.LOCAL])
def test_a_frame_that_needs_a_terminal_is_an_error(tmp_path: Path, kind: bytes) -> None:
    with pytest.raises(OSError, match="needs a client with a terminal"):
        run(tmp_path, lambda connection, request: connection.send_frame(kind))


@pytest.mark.parametrize("data", [b"", b"O\0\0", b"O\0\0\0\5abc"])
def test_a_connection_that_the_server_closes_early_is_an_error(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(ConnectionResetError, match="before the answer was complete"):
        run(tmp_path, lambda connection, request: connection.sock.sendall(data))


def test_a_frame_that_is_too_large_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(frames.FrameTooLarge):
        run(tmp_path, lambda connection, request: connection.sock.sendall(b"O\xff\xff\xff\xff"))


def test_a_command_without_a_server_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        run_on_server(["x"], socket_path=str(tmp_path / "s.sock"), environment={})
