"""The connect commands ask a running server, start one only for the person, and refuse sessions."""

from __future__ import annotations

from pathlib import Path

import pytest

from maestro.client.connect import context
from maestro.client.main import CommandEnded
from maestro.testing.frames import ClientRequest, FrameServer, Script, ScriptedConnection


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the path of the server's socket. No server runs yet."""
    monkeypatch.setenv("MAESTRO_HOME", str(tmp_path))
    return tmp_path / "maestro.sock"


def answering(text: bytes, code: int = 0) -> Script:
    def script(connection: ScriptedConnection, request: ClientRequest) -> None:
        connection.send_frame(b"O", text)
        connection.send_exit(code)

    return script


def test_the_project_is_the_checkout_around_the_present_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = tmp_path / "repo" / "a" / "b"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    assert context.project_directory() == inner
    (tmp_path / "repo" / ".git").mkdir()
    assert context.project_directory() == tmp_path / "repo"


def test_the_data_directory_is_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MAESTRO_HOME", "data")
    assert context.data_directory() == tmp_path / "data"


def test_the_answer_of_the_server_is_read_and_the_identity_is_sent(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAESTRO_TOKEN", "mst_x")
    with FrameServer(path, answering(b'{"role": "person"}')) as server:
        assert context.request_json("whoami") == {"role": "person"}
    assert server.requests[0].arguments == [b"whoami", b"--json"]
    assert server.requests[0].variables == {b"MAESTRO_TOKEN": b"mst_x"}


def test_the_answer_is_none_without_a_server_after_a_refusal_and_when_it_is_empty(path: Path) -> None:
    assert context.request_json("whoami") is None
    for script in (answering(b"{}", code=4), answering(b"")):
        with FrameServer(path, script):
            assert context.request_json("whoami") is None


@pytest.mark.parametrize("name", ["MAESTRO_TOKEN", "MAESTRO_SESSION_ID"])
def test_a_caller_with_variables_of_a_session_is_refused(
    path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "x")
    with pytest.raises(CommandEnded, match="only the person connects tools") as ended:
        context.require_person("connects tools")
    assert ended.value.code == 4


def test_a_session_that_the_server_recognises_is_refused_and_the_person_is_not(path: Path) -> None:
    context.require_person("connects tools")  # without a server only the variables count
    with FrameServer(path, answering(b'{"role": "person", "session": null}')):
        context.require_person("connects tools")
    with FrameServer(path, answering(b'{"role": "worker", "session": {"id": "ses_1"}}')), pytest.raises(CommandEnded):
        context.require_person("connects tools")


def test_no_server_is_started_for_a_remote_server_or_an_agent(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MAESTRO_SERVER_URL", "MAESTRO_TOKEN"):
        with monkeypatch.context() as variables:
            variables.setenv(name, "http://127.0.0.1:1")
            assert not context.start_server()
    assert list(path.parent.iterdir()) == []


def test_start_server_uses_a_running_server(path: Path) -> None:
    with FrameServer(path, answering(b"{}")):
        assert context.start_server()
