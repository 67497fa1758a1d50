"""Test the Unix socket of a real server: a deleted or replaced socket file is created again."""

from __future__ import annotations

import os
import signal
import socket

import pytest

from maestro.testing.live import LiveServer
from maestro.testing.supervised import wait_until


def test_a_deleted_socket_file_is_created_again(live: LiveServer) -> None:
    (live.home / "maestro.sock").unlink()
    done = live.run_command("status", "--json")
    assert done.returncode == 0, done.stderr.decode()
    assert "created a new socket file" in (live.home / "server.log").read_text()


def test_a_foreign_socket_file_is_replaced(live: LiveServer) -> None:
    path = live.home / "maestro.sock"
    path.unlink()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as other:
        other.bind(str(path))
    wait_until(lambda: live.run_command("status").returncode == 0, what="an answer of the server")


def test_open_connections_survive_a_deleted_socket_file(live: LiveServer) -> None:
    waiting = live.start_command("mail", "wait", "--timeout", "30s")
    wait_until(lambda: live.run_command("status").returncode == 0, what="an answer of the server")
    (live.home / "maestro.sock").unlink()
    assert live.run_command("status").returncode == 0
    assert waiting.poll() is None
    waiting.kill()
    waiting.communicate()


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["status"], ["doctor"]])
def test_a_command_names_a_server_that_does_not_answer(live: LiveServer, arguments: list[str]) -> None:
    """A stopped server process holds its lock, and creates no socket file."""
    assert live.process is not None
    pid = live.process.pid
    os.kill(pid, signal.SIGSTOP)
    try:
        (live.home / "maestro.sock").unlink()
        answer = live.run_command(*arguments)
    finally:
        os.kill(pid, signal.SIGCONT)
    assert answer.returncode != 0
    assert f"pid {pid}" in answer.stdout.decode() and "does not answer" in answer.stdout.decode()
