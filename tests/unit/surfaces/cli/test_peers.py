"""The system attests user and process at the other end of a Unix socket."""

from __future__ import annotations

import os
import socket
import struct

import pytest

from maestro.operations.app import SocketPeer
from maestro.surfaces.cli.peers import find_peer


class AnsweringSocket:
    """A socket that returns the given values for its options, in order."""

    def __init__(self, *options: bytes) -> None:
        self.options = list(options)

    def getsockopt(self, level: int, name: int, size: int, /) -> bytes:
        return self.options.pop(0)


def test_a_connection_without_attestation_has_no_peer() -> None:
    assert find_peer(None) is None
    with socket.socket(socket.AF_INET) as plain:
        assert find_peer(plain) is None


@pytest.mark.skipif(not hasattr(socket, "SO_PEERCRED"), reason="only Linux attests peers this way")
def test_the_peer_of_a_unix_socket_is_the_connected_process() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX)
    with ours, theirs:
        assert find_peer(ours) == SocketPeer(uid=os.getuid(), pid=os.getpid())


def test_a_process_outside_the_namespace_is_no_peer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    assert find_peer(AnsweringSocket(struct.pack("3i", 0, 1000, 1000))) is None
    assert find_peer(AnsweringSocket(struct.pack("3i", 1, 1000, 1000))) == SocketPeer(uid=1000, pid=1)


def test_an_answer_of_another_size_gives_no_peer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    assert find_peer(AnsweringSocket(b"short")) is None


@pytest.mark.parametrize(
    ("version", "pid", "peer"), [(0, 77, SocketPeer(uid=501, pid=77)), (1, 77, None), (0, 0, None)]
)
def test_macos_attests_user_and_process_in_two_options(
    version: int, pid: int, peer: SocketPeer | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    credentials = struct.pack("IIh16I", version, 501, 0, *[0] * 16)
    assert find_peer(AnsweringSocket(credentials, struct.pack("i", pid))) == peer
