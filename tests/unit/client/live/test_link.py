"""A connection to a runner sends requests, receives frames in pieces, and reports the end of the runner."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from maestro.client.live.link import RunnerLink
from maestro.wire import frames


@pytest.fixture
def ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[RunnerLink, socket.socket]]:
    """Return a link and the runner's end of its connection. The folder's path is longer than a socket address."""
    folder = tmp_path / ("long" * 30)
    folder.mkdir()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        with monkeypatch.context() as inside:
            inside.chdir(folder)
            listener.bind("control.sock")
        listener.listen(1)
        link = RunnerLink(str(folder))
        runner, _ = listener.accept()
    with runner:
        yield link, runner
        link.close()


def test_a_failed_connection_to_a_runner_keeps_the_present_directory(
    ends: tuple[RunnerLink, socket.socket], tmp_path: Path
) -> None:
    before = Path.cwd()
    with pytest.raises(FileNotFoundError):
        RunnerLink(str(tmp_path))
    assert Path.cwd() == before


def test_a_request_to_a_runner_returns_the_answer_and_drops_earlier_frames(
    ends: tuple[RunnerLink, socket.socket],
) -> None:
    link, runner = ends
    runner.sendall(
        frames.pack_frame(b"O", b"old") + frames.pack_frame(b"A", b'{"ok": true}') + frames.pack_frame(b"O", b"new")
    )
    assert link.send_request(do="attach") == {"ok": True}
    assert runner.recv(100) == frames.pack_frame(b"Q", b'{"do": "attach"}')
    assert link.has_more and link.receive_frames() == [(b"O", b"new")]
    assert not link.has_more


def test_only_complete_frames_are_received_from_a_runner(ends: tuple[RunnerLink, socket.socket]) -> None:
    link, runner = ends
    data = frames.pack_frame(b"O", b"output") + frames.pack_frame(b"X", b"0")
    runner.sendall(data)
    assert link.receive_frames() == [(b"O", b"output"), (b"X", b"0")]
    runner.sendall(data[:7])
    with pytest.raises(ConnectionResetError):
        runner.shutdown(socket.SHUT_WR)
        link.receive_frames()


def test_a_request_to_a_runner_that_has_ended_fails(ends: tuple[RunnerLink, socket.socket]) -> None:
    link, runner = ends
    runner.close()
    with pytest.raises(OSError):
        link.send_request(do="state")


def test_a_sent_frame_reaches_the_runner(ends: tuple[RunnerLink, socket.socket]) -> None:
    link, runner = ends
    link.send_frame(b"Z", b"80 24")
    assert runner.recv(100) == frames.pack_frame(b"Z", b"80 24")
    assert os.fstat(link.fileno())
