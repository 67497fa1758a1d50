"""A runner's link to a program that listens on a socket sends lines in order and reports its loss once."""

from __future__ import annotations

import contextlib
import os
import selectors
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from maestro.runner.websocket_link import WebSocketLink
from maestro.testing.supervised import wait_until
from maestro.testing.websocket import AGREED, CLOSE, TEXT, decode_client_frames, encode_frame

NAME = "agent.sock"


class Ends:
    """The two ends of a real socket: the runner's link and the program."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []
        self.lost: list[str] = []
        self.selector = selectors.DefaultSelector()
        self.wire = WebSocketLink(NAME, self.selector, on_line=self.heard.append, on_loss=self.lost.append)
        self._listener: socket.socket | None = None
        self.agent: socket.socket | None = None
        self._came = b""

    def listen(self) -> None:
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(NAME)
        self._listener.listen()
        wait_until(lambda: self.turn() or self.wire.due is None, what="The connection of the link")
        self.agent, _ = self._listener.accept()
        self.agent.setblocking(False)

    def shake(self) -> None:
        self.listen()
        assert self.agent is not None
        self.agent.sendall(AGREED)

    def turn(self) -> None:
        """Run one turn of the runner's loop for the link."""
        self.wire.connect_if_due()
        for key, events in self.selector.select(0.001):
            key.data(None, events)

    def until(self, is_so: Callable[[], object]) -> None:
        wait_until(lambda: self.turn() or is_so())

    def came(self) -> bytes:
        """Return all bytes that the program has received."""
        assert self.agent is not None
        self.turn()
        with contextlib.suppress(BlockingIOError):
            self._came += self.agent.recv(1 << 20)
        return self._came

    def close(self) -> None:
        self.wire.close()
        for end in (self.agent, self._listener):
            if end is not None:
                end.close()
        self.selector.close()


@pytest.fixture
def ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ends]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / NAME).touch()  # a socket of an earlier runner
    made = Ends()
    yield made
    made.close()


def test_lines_that_are_sent_before_the_program_listens_arrive_in_order(ends: Ends) -> None:
    ends.wire.send_lines(b"one\n")
    ends.turn()
    ends.listen()
    ends.wire.send_lines(b"two\nthr")
    wait_until(lambda: ends.came().endswith(b"\r\n\r\n"), what="The request for the handshake")
    assert ends.agent is not None
    hello = len(ends.came())
    ends.agent.sendall(AGREED)
    wait_until(lambda: len(ends.came()) > hello, what="The sending of the waiting lines")
    ends.wire.send_lines(b"ee\n")
    wait_until(lambda: len(decode_client_frames(ends.came()[hello:])) == 3)
    assert decode_client_frames(ends.came()[hello:]) == [(TEXT, b"one"), (TEXT, b"two"), (TEXT, b"three")]


def test_every_message_of_the_program_becomes_one_line(ends: Ends) -> None:
    ends.shake()
    assert ends.agent is not None
    ends.agent.sendall(encode_frame(TEXT, b'{"a":\n1}') + encode_frame(TEXT, b"{}"))
    ends.until(lambda: len(ends.heard) == 2)
    assert ends.heard == [b'{"a": 1}\n', b"{}\n"]


def test_a_message_larger_than_the_socket_buffer_arrives_complete(ends: Ends) -> None:
    ends.shake()
    ends.until(lambda: ends.came().endswith(b"\r\n\r\n"))
    hello = len(ends.came())
    text = os.urandom(3_000_000).replace(b"\n", b"x")
    ends.wire.send_lines(text + b"\n")
    wait_until(lambda: len(ends.came()) - hello == len(text) + 14)
    assert decode_client_frames(ends.came()[hello:]) == [(TEXT, text)]


@pytest.mark.parametrize("last", [b"", encode_frame(CLOSE, b""), b"\xff\xff"], ids=["gone", "goodbye", "nonsense"])
def test_the_loss_of_the_connection_is_reported_once(ends: Ends, last: bytes) -> None:
    ends.shake()
    assert ends.agent is not None
    ends.agent.sendall(encode_frame(TEXT, b"{}"))
    ends.until(lambda: ends.heard)
    ends.agent.sendall(last)
    if not last:
        ends.agent.close()
    ends.until(lambda: ends.lost)
    ends.wire.send_lines(b"more\n")
    ends.turn()
    assert ends.heard == [b"{}\n"]
    assert len(ends.lost) == 1


def test_the_socket_is_removed_and_its_folder_only_if_the_folder_is_empty(tmp_path: Path) -> None:
    own, shared = tmp_path / "own", tmp_path / "shared"
    for folder in (own, shared):
        folder.mkdir()
        wire = WebSocketLink(str(folder / NAME), selectors.DefaultSelector(), on_line=print, on_loss=print)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(folder / NAME))
        if folder is shared:
            (folder / "of another").touch()
        wire.close()
        wire.remove_socket()
    assert not own.exists()
    assert [path.name for path in shared.iterdir()] == ["of another"]
