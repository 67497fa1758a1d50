"""Messages that are put to an agent beside its keyboard."""

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
    """Listens as one does: a message per connection, and nothing is answered."""

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


def test_a_message_comes_in_whole_and_once(inbox: ProgramInbox, program: Program) -> None:
    text = 'Say "hello"\n' * 50_000
    for _ in range(2):  # the answer to the first was lost
        assert inbox.handle_request("prompt", {"id": "psh_1", "text": text}) == {"state": "said"}
    assert inbox.handle_request("prompt", {"id": "psh_2", "text": "And this."}) == {"state": "said"}
    assert program.heard == [text, "And this."]


def test_that_nobody_listens_is_told_and_it_may_be_said_again(inbox: ProgramInbox, path: Path) -> None:
    told = inbox.handle_request("prompt", {"id": "psh_1", "text": "Hello."})
    assert told is not None and told["state"] == "closed" and "inbox" in told["why"]
    program = Program(path)
    assert inbox.handle_request("prompt", {"id": "psh_1", "text": "Hello."}) == {"state": "said"}
    program.close()
    assert program.heard == ["Hello."]


def test_other_orders_are_none_of_its_business(inbox: ProgramInbox) -> None:
    assert inbox.handle_request("interrupt", {}) is None


def test_nothing_of_it_is_left(inbox: ProgramInbox, path: Path) -> None:
    program = Program(path)
    inbox.close()
    program.close()
    assert not path.exists()


@pytest.fixture
def pipe(tmp_path: Path) -> Iterator[ProgramInbox]:
    (tmp_path / "in").touch()  # of an earlier start
    words = {"session_id": "ses_1", "token": "", "socket": "", "folder": "", "directory": "/"}
    made = ProgramInbox(
        RunnerOrder(**words, arguments=["true"], environment={}, inbox={"path": str(tmp_path / "in"), "kind": "pipe"})
    )
    yield made
    made.close()
    assert not (tmp_path / "in").exists()


def waits(folder: Path, pipe: ProgramInbox) -> subprocess.Popen[str]:
    """A command that waits, once it is known to."""
    command = subprocess.Popen(["cat", str(folder / "in")], stdout=subprocess.PIPE, text=True)
    while not pipe.describe_state()["listens"]:
        assert command.poll() is None
    return command


def test_a_command_that_waits_gets_one_message_and_ends(pipe: ProgramInbox, tmp_path: Path) -> None:
    for number in range(2):
        assert pipe.describe_state() == {"listens": False}
        command = waits(tmp_path, pipe)
        assert pipe.describe_state() == {"listens": True}
        assert command.poll() is None, "to be asked whether it waits does not end it"
        assert pipe.handle_request("prompt", {"id": f"psh_{number}", "text": "Hello."}) == {"state": "said"}
        assert command.communicate(timeout=10)[0] == "Hello.\n"
        assert pipe.handle_request("prompt", {"id": f"psh_{number}", "text": "Hello."}) == {"state": "said"}


def test_where_no_command_waits_that_is_told(pipe: ProgramInbox, tmp_path: Path) -> None:
    told = pipe.handle_request("prompt", {"id": "psh_1", "text": "Hello."})
    assert told is not None and told["state"] == "closed" and "waits for Maestro" in told["why"]
    command = waits(tmp_path, pipe)
    command.kill()
    command.communicate()
    assert pipe.describe_state() == {"listens": False}
    told = pipe.handle_request("prompt", {"id": "psh_1", "text": "Hello."})
    assert told is not None and told["state"] == "closed"
