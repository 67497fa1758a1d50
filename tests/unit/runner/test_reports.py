"""A runner sends its reports in order and repeats them; a report that cannot be sent does not stop later reports."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from maestro.core import limits
from maestro.runner import reports
from maestro.testing.frames import ClientRequest, FrameServer, ScriptedConnection
from maestro.wire import frames
from maestro.wire.runner_order import RunnerOrder

Answers = Callable[[dict[str, Any]], int]


@contextmanager
def reporting(folder: Path, answers: Answers) -> Iterator[tuple[reports.ReportSender, list[str]]]:
    """Run a server that answers each report with a code. Yield the sender and the kinds of the accepted reports."""
    taken: list[str] = []

    def script(connection: ScriptedConnection, request: ClientRequest) -> None:
        told = json.loads(request.arguments[-1])
        code = answers(told)
        if code == 0:
            taken.append(told["kind"])
        connection.send_exit(code)

    order = RunnerOrder("ses_x", "none", str(folder / "s.sock"), str(folder), ["true"], str(folder), {})
    with FrameServer(folder / "s.sock", script):
        yield reports.ReportSender(order), taken


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reports, "_PAUSE_SECONDS", 0.001)
    monkeypatch.setattr(reports, "_PAUSE_SECONDS_MAX", 0.01)
    monkeypatch.setattr(limits, "runner_report_attempts_max", 3)


def test_a_report_that_is_too_large_for_a_frame_is_dropped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with reporting(tmp_path, lambda told: 0) as (told, taken):
        told.queue_report("asked", text="x" * frames.PAYLOAD_BYTES_MAX)
        told.queue_report("exited")
        told.close(seconds=10)
        assert taken == ["exited"]
    assert "a report was dropped" in capsys.readouterr().err


def test_a_report_on_which_the_server_fails_is_repeated_and_then_dropped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tries: list[str] = []

    def answers(told: dict[str, Any]) -> int:
        tries.append(told["kind"])
        return 1 if told["kind"] == "asked" else 0

    with reporting(tmp_path, answers) as (told, taken):
        told.queue_report("asked")
        told.queue_report("exited")
        told.close(seconds=10)
        assert (tries, taken) == (["asked"] * 3 + ["exited"], ["exited"])
    assert "a report was dropped" in capsys.readouterr().err


def test_a_report_is_repeated_until_the_server_is_ready(tmp_path: Path) -> None:
    codes = [8] * 10 + [0]
    with reporting(tmp_path, lambda told: codes.pop(0)) as (told, taken):
        told.queue_report("asked")
        told.close(seconds=10)
        assert taken == ["asked"]


def test_a_refused_report_is_not_repeated_and_is_written_to_stderr(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with reporting(tmp_path, lambda told: 2 if told["kind"] == "asked" else 0) as (told, taken):
        told.queue_report("asked")
        told.queue_report("exited")
        told.close(seconds=10)
        assert taken == ["exited"]
    assert '"kind": "asked"' in capsys.readouterr().err
