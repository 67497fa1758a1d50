"""The runner forker starts a runner for each order, after the server has let it begin."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from maestro.runner import process_tree
from maestro.testing.supervised import is_running, process_identity, wait_until
from maestro.wire.runner_order import RunnerOrder, order_fields


class Forker:
    """A real forker process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "maestro.runner.forker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.forked: list[tuple[int, str]] = []

    def send(self, *messages: dict[str, Any]) -> None:
        """Send messages in one piece, each behind its length."""
        assert self.process.stdin is not None
        for message in messages:
            data = json.dumps(message).encode()
            self.process.stdin.write(len(data).to_bytes(4, "big") + data)
        self.process.stdin.flush()

    def next_event(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        event: dict[str, Any] = json.loads(self.process.stdout.readline())
        if "born" in event:
            self.forked.append(process_identity(event["pid"]))
        return event

    def order(self, number: int, script: str) -> dict[str, Any]:
        """Return the message with an order, and create the session's folder."""
        folder = self.folder / f"ses_{number}"
        folder.mkdir()
        order = RunnerOrder(
            f"ses_{number}",
            "none",
            str(self.folder / "no-server.sock"),
            str(folder),
            ["sh", "-c", script],
            str(folder),
            {"PATH": os.environ["PATH"]},
            stop_seconds=0.3,
        )
        return {"number": number, **order_fields(order)}

    def close(self) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        for identity in self.forked:
            if is_running(identity):
                process_tree.signal_all([*process_tree.find_descendants(identity[0]), identity[0]], signal.SIGKILL)
        self.process.stdin.close()
        self.process.wait(30)
        self.process.stdout.close()


@pytest.fixture
def forker(tmp_path: Path) -> Iterator[Forker]:
    made = Forker(tmp_path)
    yield made
    made.close()


def end_of(folder: Path) -> dict[str, Any] | None:
    """Return the report of the program's end, which no server has taken."""
    spool = folder / "spool.json"
    reports = json.loads(spool.read_text()) if spool.exists() else []
    return next((report for report in reports if report["kind"] == "exited"), None)


def test_a_runner_waits_until_the_server_lets_it_begin(forker: Forker) -> None:
    forker.send(forker.order(1, "echo begun > begun; exec sleep 600"))
    event = forker.next_event()
    assert (event["born"], event["number"]) == ("ses_1", 1) and is_running(forker.forked[0])
    assert [entry.name for entry in (forker.folder / "ses_1").iterdir()] == []
    forker.send({"begin": 1, "is_wanted": True})
    wait_until((forker.folder / "ses_1" / "begun").exists, what="the start of the program")
    identity = json.loads((forker.folder / "ses_1" / "runner.json").read_text())
    assert identity["runner"] == event["pid"] and os.getsid(event["pid"]) == event["pid"]


def test_a_runner_that_is_no_longer_wanted_ends_without_effect(forker: Forker) -> None:
    forker.send(forker.order(1, "true"))
    born = forker.next_event()
    forker.send({"begin": 1, "is_wanted": False})
    assert forker.next_event() == {"ended": "ses_1", "pid": born["pid"]}
    assert [entry.name for entry in (forker.folder / "ses_1").iterdir()] == []


def test_many_orders_in_one_piece_give_one_runner_each(forker: Forker) -> None:
    forker.send(*(forker.order(number, f"exit {number}") for number in range(1, 4)))
    assert [forker.next_event()["born"] for _ in range(3)] == ["ses_1", "ses_2", "ses_3"]
    forker.send(*({"begin": number, "is_wanted": True} for number in range(1, 4)))
    for number in range(1, 4):
        end = wait_until(lambda number=number: end_of(forker.folder / f"ses_{number}"), what="the end of the program")
        assert end["code"] == number


def test_a_runner_that_has_begun_outlives_the_forker_and_a_waiting_runner_ends(forker: Forker) -> None:
    forker.send(forker.order(1, "echo begun > begun; exec sleep 600"), forker.order(2, "true"))
    forker.next_event()
    forker.next_event()
    forker.send({"begin": 1, "is_wanted": True})
    wait_until((forker.folder / "ses_1" / "begun").exists, what="the start of the program")
    forker.process.kill()
    forker.process.wait(30)
    running, waiting = forker.forked
    wait_until(lambda: not is_running(waiting), what="the end of the waiting runner")
    assert is_running(running)
    assert [entry.name for entry in (forker.folder / "ses_2").iterdir()] == []


def test_the_forker_ends_with_its_server(forker: Forker) -> None:
    assert forker.process.stdin is not None
    forker.process.stdin.close()
    assert forker.process.wait(30) == 0


def test_a_runner_with_an_invalid_order_ends_with_an_error_in_the_log(forker: Forker) -> None:
    broken = {"number": 1, "session_id": "ses_1", "folder": str(forker.folder)}
    forker.send(broken)
    born = forker.next_event()
    forker.send({"begin": 1, "is_wanted": True})
    assert forker.next_event() == {"ended": "ses_1", "pid": born["pid"]}
    assert "TypeError" in (forker.folder / "runner.log").read_text()
