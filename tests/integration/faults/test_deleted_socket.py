"""A deleted socket file: the server makes it again, and commands find the server by its lock meanwhile."""

from __future__ import annotations

import os
import signal
import socket

import pytest

from maestro.testing.live import LiveServer
from maestro.testing.supervised import wait_until


def test_a_deleted_socket_file_is_made_again(live: LiveServer) -> None:
    (live.home / "maestro.sock").unlink()
    done = live.run_command("status", "--json")
    assert done.returncode == 0, done.stderr.decode()
    assert "created a new socket file" in (live.home / "server.log").read_text()


def test_a_socket_file_of_somebody_else_is_replaced(live: LiveServer) -> None:
    path = live.home / "maestro.sock"
    path.unlink()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as other:
        other.bind(str(path))
    wait_until(lambda: live.run_command("status").returncode == 0, what="an answer")


def test_connections_outlive_the_file(live: LiveServer) -> None:
    waiting = live.start_command("mail", "wait", "--timeout", "30s")
    wait_until(lambda: live.run_command("status").returncode == 0, what="an answer")
    (live.home / "maestro.sock").unlink()
    assert live.run_command("status").returncode == 0
    assert waiting.poll() is None
    waiting.kill()
    waiting.communicate()


@pytest.mark.parametrize("words", [["status"], ["doctor"]])
def test_a_server_that_does_not_answer_is_named(
    live: LiveServer, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stopped process holds its lock, and makes no socket."""
    assert live.process is not None
    pid = live.process.pid
    os.kill(pid, signal.SIGSTOP)
    try:
        (live.home / "maestro.sock").unlink()
        told = live.run_command(*words)
    finally:
        os.kill(pid, signal.SIGCONT)
    assert told.returncode != 0
    assert f"pid {pid}" in told.stdout.decode() and "does not answer" in told.stdout.decode()
