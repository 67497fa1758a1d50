"""A terminal client starts with the conversation, is restarted after a failure, and its normal end is reported."""

from __future__ import annotations

import contextlib
import os
import selectors
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from maestro.runner import terminal_client as fronts
from maestro.runner.program import RunningProgram
from maestro.runner.terminal_client import TerminalClient
from maestro.testing.supervised import wait_until
from maestro.tools import placeholders
from maestro.wire.runner_order import RunnerOrder


class Stand:
    """A terminal client with a real shell program, and the part of the runner's loop that serves the client."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.shown = b""
        self.leaves = 0
        self._ended: dict[int, int] = {}
        self._selector = selectors.DefaultSelector()
        self.front: TerminalClient | None = None

    def start(self, script: str) -> TerminalClient:
        order = RunnerOrder(
            session_id="ses_1", token="", socket="", folder=str(self._folder), arguments=[], directory=str(self._folder),
            environment=dict(os.environ), terminal_client=["sh", "-c", script, placeholders.CONVERSATION_PLACEHOLDER],
        )  # fmt: skip
        self.front = TerminalClient(order, self._selector, show=self._show, on_ended_by_person=self._left)
        return self.front

    def _show(self, data: bytes) -> None:
        self.shown += data

    def _left(self) -> None:
        self.leaves += 1

    def until(self, is_so: Callable[[], object]) -> None:
        wait_until(lambda: self._turn() or is_so(), what=f"the expected state (output before: {self.shown!r})")

    def _turn(self) -> None:
        assert self.front is not None
        self._reap(os.WNOHANG)
        self.front.handle_end_or_start(self._ended)
        for key, events in self._selector.select(0.001):
            key.data(None, events)

    def close(self) -> None:
        if self.front is not None:
            program = self.front._program
            self.front.close()  # closes the terminal, which ends the program
            self._reap(0, program)
        self._selector.close()

    def _reap(self, how: int, program: RunningProgram | None = None) -> None:
        """Collect the exit status of the terminal client only: other tests have child processes too."""
        assert self.front is not None
        program = program or self.front._program
        if program is None or program.pid in self._ended:
            return
        with contextlib.suppress(ChildProcessError):
            pid, status = os.waitpid(program.pid, how)
            if pid:
                self._ended[pid] = status


@pytest.fixture
def stand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stand]:
    monkeypatch.setattr(fronts, "_RESTART_SECONDS", 0.01)
    made = Stand(tmp_path)
    yield made
    made.close()


def test_the_terminal_client_starts_once_when_a_conversation_can_be_joined(stand: Stand) -> None:
    front = stand.start("echo joined $0 $(stty size); read line; echo heard $line; read line")
    front.resize_terminal(101, 33)
    stand.until(lambda: True)
    assert not front.is_running
    front.plan_start("thread-1")
    stand.until(lambda: b"joined thread-1 33 101" in stand.shown)
    assert front.is_running
    front.plan_start("thread-1")  # a conversation reports its id repeatedly
    front.write_input(b"hello\r")
    stand.until(lambda: b"heard hello" in stand.shown)
    assert stand.shown.count(b"joined") == 1
    assert stand.leaves == 0


def test_the_normal_end_of_the_terminal_client_is_reported_as_a_leave(stand: Stand) -> None:
    stand.start("echo bye").plan_start("t")
    stand.until(lambda: stand.leaves)
    assert b"bye" in stand.shown
    assert stand.front is not None and not stand.front.is_running and stand.front.due is None


def test_a_failing_terminal_client_is_restarted_a_limited_number_of_times(stand: Stand, tmp_path: Path) -> None:
    counted = shlex.quote(str(tmp_path / "starts"))
    stand.start(f"echo one >> {counted}; exit 3").plan_start("t")
    stand.until(lambda: b"ended with 3" in stand.shown)
    assert (tmp_path / "starts").read_text() == "one\n" * 3
    assert stand.leaves == 0


def test_a_terminal_client_that_cannot_be_started_is_reported_in_the_terminal(stand: Stand, tmp_path: Path) -> None:
    front = stand.start("true")
    front._order.terminal_client[0] = str(tmp_path / "nowhere")
    front.plan_start("t")
    stand.until(lambda: b"cannot start" in stand.shown)
    assert not front.is_running
