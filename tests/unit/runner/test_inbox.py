"""The program inbox pushes each text once, through a socket or a pipe, and reports when no program reads."""

from __future__ import annotations

import json
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from maestro.runner.inbox import ProgramInbox
from maestro.tools import socket_paths
from maestro.wire.runner_order import RunnerOrder

SPELT_BY = "maestro.tools.claude.inbox"


class Program:
    """A program that listens on a socket: it reads one message per connection and sends no answer."""

    def __init__(self, path: Path) -> None:
        self.heard: list[str] = []
        self._door = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._door.bind(str(path))
        self._door.listen()
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        while True:
            try:
                line, _ = self._door.accept()
            except OSError:
                return
            with line:
                said = b"".join(iter(lambda: line.recv(4096), b""))  # noqa: B023
                self.heard.append(json.loads(said)["message"]["content"])

    def close(self) -> None:
        self._door.shutdown(socket.SHUT_RDWR)
        self._door.close()
        self._thread.join()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return socket_paths.short_socket_path(tmp_path / "in.sock", tmp_path.name)


@pytest.fixture
def program(path: Path) -> Iterator[Program]:
    made = Program(path)
    yield made
    made.close()


@pytest.fixture
def inbox(path: Path) -> Iterator[ProgramInbox]:
    words = {"session_id": "ses_1", "token": "", "socket": "", "folder": "", "directory": "/"}
    made = ProgramInbox(
        RunnerOrder(**words, arguments=["true"], environment={}, inbox={"path": str(path), "spelt_by": SPELT_BY})
    )
    yield made
    made.close()


def test_a_repeated_push_reaches_the_program_once_and_complete(inbox: ProgramInbox, program: Program) -> None:
    text = 'Say "hello"\n' * 50_000
    for _ in range(2):  # the server repeats a push whose answer was lost
        assert inbox.handle_request("prompt", {"id": "psh_1", "text": text}) == {"state": "said"}
    assert inbox.handle_request("prompt", {"id": "psh_2", "text": "And this."}) == {"state": "said"}
    assert program.heard == [text, "And this."]


def test_a_push_is_refused_while_no_program_listens_and_can_be_repeated_later(
    inbox: ProgramInbox, path: Path
) -> None:
    told = inbox.handle_request("prompt", {"id": "psh_1", "text": "Hello."})
    assert told is not None and told["state"] == "closed" and "inbox" in told["why"]
    program = Program(path)
    assert inbox.handle_request("prompt", {"id": "psh_1", "text": "Hello."}) == {"state": "said"}
    program.close()
    assert program.heard == ["Hello."]


def test_the_inbox_does_not_handle_other_requests(inbox: ProgramInbox) -> None:
    assert inbox.handle_request("interrupt", {}) is None


def test_closing_the_inbox_removes_its_socket(inbox: ProgramInbox, path: Path) -> None:
    program = Program(path)
    inbox.close()
    program.close()
    assert not path.exists()


@pytest.fixture
def pipe(tmp_path: Path) -> Iterator[ProgramInbox]:
    (tmp_path / "in").touch()  # a file of an earlier start
    words = {"session_id": "ses_1", "token": "", "socket": "", "folder": "", "directory": "/"}
    made = ProgramInbox(
        RunnerOrder(**words, arguments=["true"], environment={}, inbox={"path": str(tmp_path / "in"), "kind": "pipe"})
    )
    yield made
    made.close()
    assert not (tmp_path / "in").exists()


def waits(folder: Path, pipe: ProgramInbox) -> subprocess.Popen[str]:
    """Start a command that reads the pipe; return the command when the inbox knows about its reader."""
    command = subprocess.Popen(["cat", str(folder / "in")], stdout=subprocess.PIPE, text=True)
    while not pipe.describe_state()["listens"]:
        assert command.poll() is None
    return command


def test_a_waiting_command_gets_one_message_and_ends(pipe: ProgramInbox, tmp_path: Path) -> None:
    for number in range(2):
        assert pipe.describe_state() == {"listens": False}
        command = waits(tmp_path, pipe)
        assert pipe.describe_state() == {"listens": True}
        assert command.poll() is None, "The question for the state has ended the waiting command."
        assert pipe.handle_request("prompt", {"id": f"psh_{number}", "text": "Hello."}) == {"state": "said"}
        assert command.communicate(timeout=10)[0] == "Hello.\n"
        assert pipe.handle_request("prompt", {"id": f"psh_{number}", "text": "Hello."}) == {"state": "said"}


def test_a_push_into_the_pipe_is_refused_while_no_command_waits(pipe: ProgramInbox, tmp_path: Path) -> None:
    told = pipe.handle_request("prompt", {"id": "psh_1", "text": "Hello."})
    assert told is not None and told["state"] == "closed" and "waits for Maestro" in told["why"]
    command = waits(tmp_path, pipe)
    command.kill()
    command.communicate()
    assert pipe.describe_state() == {"listens": False}
    told = pipe.handle_request("prompt", {"id": "psh_1", "text": "Hello."})
    assert told is not None and told["state"] == "closed"
