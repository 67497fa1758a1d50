"""Peers of the control socket send frames to the runner, and get its answers, its output and its end."""

from __future__ import annotations

import json
import os
import selectors
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from maestro.runner.control import ControlPeer, ControlSocket, parse_size
from maestro.testing.supervised import receive_frame
from maestro.wire import frames


class Stand:
    """A control socket with its selector, and the frames that the socket received."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.selector = selectors.DefaultSelector()
        self.control = ControlSocket(str(folder), self.selector)
        self.received: list[tuple[bytes, bytes]] = []

    def connect(self) -> tuple[socket.socket, ControlPeer]:
        """Connect a client; return the client and the peer of the control socket for this client."""
        before = set(self.control.peers)
        client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        client.settimeout(10)
        client.connect("control.sock")
        self.handle_events()
        (peer,) = self.control.peers - before
        return client, peer

    def handle_events(self) -> None:
        """Handle events until the selector reports no more."""
        while ready := self.selector.select(0):
            for key, events in ready:
                key.data(self.handle_frame, events)

    def handle_frame(self, peer: ControlPeer, kind: bytes, payload: bytes) -> None:
        self.received.append((kind, payload))


@pytest.fixture
def stand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stand]:
    monkeypatch.chdir(tmp_path)  # the control socket changes the directory: monkeypatch restores the directory
    made = Stand(tmp_path)
    yield made
    if (tmp_path / "control.sock").exists():
        made.control.close(0)
    made.selector.close()


def test_other_users_have_no_access_to_the_control_socket(stand: Stand) -> None:
    assert stat.S_IMODE((stand.folder / "control.sock").stat().st_mode) == 0o600


def test_the_control_socket_of_an_earlier_runner_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as earlier:
        earlier.bind("control.sock")
    stand = Stand(tmp_path)
    client, _ = stand.connect()
    client.close()
    stand.control.close(0)
    stand.selector.close()


def test_frames_in_pieces_are_handled_whole_and_in_order(stand: Stand) -> None:
    client, _ = stand.connect()
    data = frames.pack_frame(b"D", b"keys") + frames.pack_frame(b"Z", b"80 24")
    for piece in (data[:3], data[3:7], data[7:]):
        client.sendall(piece)
        stand.handle_events()
    assert stand.received == [(b"D", b"keys"), (b"Z", b"80 24")]
    client.close()


def test_an_answer_to_a_peer_is_a_frame_with_json(stand: Stand) -> None:
    client, peer = stand.connect()
    peer.send_answer({"left": 3})
    kind, payload = receive_frame(client)
    assert kind == b"A" and json.loads(payload) == {"ok": True, "left": 3}
    client.close()


def test_a_peer_is_closed_after_a_frame_that_is_too_large_and_after_a_lost_connection(stand: Stand) -> None:
    left: list[None] = []
    stand.control.on_peer_gone = lambda: left.append(None)
    client, _ = stand.connect()
    client.sendall(b"Q\xff\xff\xff\xff")
    stand.handle_events()
    assert client.recv(1) == b""
    other, _ = stand.connect()
    other.close()
    stand.handle_events()
    assert stand.control.peers == set() and len(left) == 2
    client.close()


def test_attached_peers_get_the_output_and_watching_peers_get_a_notice(stand: Stand) -> None:
    (attached, attached_peer), (watching, watching_peer), (idle, _) = (stand.connect() for _ in range(3))
    attached_peer.is_attached, watching_peer.watches = True, True
    stand.control.send_output(b"text")
    assert receive_frame(attached) == (b"O", b"text") and receive_frame(watching) == (b"O", b"")
    idle.setblocking(False)
    with pytest.raises(BlockingIOError):
        idle.recv(1)
    for client in (attached, watching, idle):
        client.close()


def test_unread_notices_to_a_watching_peer_are_sent_as_a_single_notice(stand: Stand) -> None:
    client, peer = stand.connect()
    peer.watches = True
    filling = frames.pack_frame(b"O", b"x" * 100_000)
    for _ in range(8):  # fill the buffer of the socket
        peer.send_frame(b"O", b"x" * 100_000)
    for _ in range(100):
        peer.send_notice()
    total = 0
    while total < 8 * len(filling):
        total += len(client.recv(min(1 << 16, 8 * len(filling) - total)))
        stand.handle_events()
    stand.control.send_output(b"more")
    assert receive_frame(client) == (b"O", b"")
    client.setblocking(False)
    with pytest.raises(BlockingIOError):
        client.recv(1)
    client.close()


def test_a_peer_that_reads_its_output_too_slowly_is_disconnected(stand: Stand) -> None:
    slow, slow_peer = stand.connect()
    slow_peer.is_attached = True
    for _ in range(100):
        stand.control.send_output(b"x" * 100_000)
    assert slow_peer not in stand.control.peers
    slow.close()


def test_every_peer_gets_the_exit_code_of_the_program(stand: Stand) -> None:
    clients = [stand.connect()[0] for _ in range(2)]
    stand.control.close(7)
    for client in clients:
        assert receive_frame(client) == (b"X", b"7") and client.recv(1) == b""
        client.close()
    assert not os.path.lexists("control.sock") and not stand.selector.get_map()


@pytest.mark.parametrize(
    ("payload", "size"),
    [
        (b"80 24", (80, 24)),
        (b"10000 1", (10_000, 1)),
        (b"10001 1", None),
        (b"0 24", None),
        (b"80 0", None),
        (b"80", None),
        (b"80 24 1", None),
        (b"-80 24", None),
        (b"", None),
        (b"80 " + b"0" * 20 + b"1", None),
    ],
)
def test_only_a_valid_size_of_a_terminal_is_accepted(payload: bytes, size: tuple[int, int] | None) -> None:
    assert parse_size(payload) == size
