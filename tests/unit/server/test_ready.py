"""A server reports the result of its start once, over a pipe that the environment names."""

from __future__ import annotations

import os

import pytest

from maestro.server.ready import ReadyPipe


def test_only_the_first_result_is_written_to_the_ready_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    monkeypatch.setenv("MAESTRO_READY_FD", str(writing))
    pipe = ReadyPipe()
    assert "MAESTRO_READY_FD" not in os.environ, "Programs that the server starts would get the variable."
    assert not os.get_inheritable(writing)
    pipe.report_result("ready")
    pipe.report_result("busy")
    with os.fdopen(reading) as lines:
        assert lines.read() == "ready\n"


@pytest.mark.parametrize("value", ["", "x", "-1"])
def test_a_result_without_a_ready_pipe_is_not_written(
    monkeypatch: pytest.MonkeyPatch, value: str, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MAESTRO_READY_FD", value)
    ReadyPipe().report_result("ready")
    assert capfd.readouterr() == ("", "")


def test_a_result_for_a_closed_ready_pipe_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    monkeypatch.setenv("MAESTRO_READY_FD", str(writing))
    pipe = ReadyPipe()
    os.close(reading)
    os.close(writing)
    pipe.report_result("ready")
