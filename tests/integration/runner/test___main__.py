"""A session has one runner at a time, and each start of the session runs once."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from maestro.testing.frames import FrameServer
from maestro.testing.supervised import SupervisedRunner, wait_until

Supervise = Callable[..., SupervisedRunner]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """Return the socket of a server that takes every report. Without a server, a runner waits before it ends."""
    with FrameServer(tmp_path / "s.sock", lambda connection, request: connection.send_exit(0)):
        yield str(tmp_path / "s.sock")


def test_a_second_runner_for_the_same_start_ends_at_once(supervise: Supervise) -> None:
    runner = supervise("cat")
    runner.wait_for_report("started")
    second = runner.start_runner()
    assert second.wait(30) == 0
    assert runner.send_request(do="state")["runner"] == runner.process.pid
    assert runner.process.poll() is None


def test_a_runner_of_a_later_start_waits_for_the_last_runner(supervise: Supervise, server: str) -> None:
    runner = supervise("sh", "-c", "echo $$ >> pids; exec cat", epoch=1, socket=server)
    runner.wait_for_file("pids")
    runner.order["epoch"] = 2
    second = runner.start_runner()
    assert runner.send_request(do="state")["runner"] == runner.process.pid
    runner.send_request(do="stop", by="dana")
    assert runner.process.wait(30) == 0
    runner.process = second  # the fixture ends this runner
    wait_until(lambda: len(runner.wait_for_file("pids").split()) == 2, what="the start of the second program")
    assert json.loads((runner.folder / "runner.json").read_text())["epoch"] == 2


@pytest.mark.parametrize("epoch", [1, 2])
def test_a_start_that_has_run_does_not_run_again(supervise: Supervise, server: str, epoch: int) -> None:
    runner = supervise("sh", "-c", "echo x >> runs", epoch=2, socket=server)
    assert runner.process.wait(30) == 0
    runner.order["epoch"] = epoch
    assert runner.start_runner().wait(30) == 0
    assert runner.wait_for_file("runs") == "x"


def test_a_damaged_identity_file_does_not_prevent_a_start(supervise: Supervise, tmp_path: Path) -> None:
    folder = tmp_path / "agent-0"
    folder.mkdir()
    (folder / "runner.json").write_text("{")
    assert supervise("sh", "-c", "exit 3").wait_for_report("exited")["code"] == 3
