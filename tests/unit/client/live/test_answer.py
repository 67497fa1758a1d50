"""A view gets the complete answer of a command, or an error when the server does not answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from maestro.client.live.answer import run_command
from maestro.client.main import CommandEnded
from maestro.testing.frames import ClientRequest, FrameServer, ScriptedConnection


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MAESTRO_SOCKET", str(tmp_path / "s.sock"))
    return tmp_path / "s.sock"


def test_the_answer_of_a_command_holds_output_errors_and_exit_code(path: Path) -> None:
    def script(connection: ScriptedConnection, request: ClientRequest) -> None:
        for kind, payload in ((b"O", b"one "), (b"E", b"problem"), (b"O", b"two")):
            connection.send_frame(kind, payload)
        connection.send_exit(4)

    with FrameServer(path, script) as server:
        assert run_command(["run", "show"]) == (4, b"one two", b"problem")
    assert server.requests[0].arguments == [b"run", b"show"]


def test_a_command_without_a_server_ends_with_exit_code_8(path: Path) -> None:
    with pytest.raises(CommandEnded, match="no server answers") as ended:
        run_command(["run", "show"])
    assert ended.value.code == 8


def test_a_command_ends_when_the_server_closes_the_connection(path: Path) -> None:
    with (
        FrameServer(path, lambda connection, request: connection.send_frame(b"O", b"half")),
        pytest.raises(CommandEnded),
    ):
        run_command(["run", "show"])
