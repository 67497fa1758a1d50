"""A program that cannot be started is reported with the reason, on a terminal and on pipes."""

from __future__ import annotations

from collections.abc import Callable

from maestro.testing.supervised import SupervisedRunner

Supervise = Callable[..., SupervisedRunner]


def test_a_program_that_does_not_exist_is_reported_as_not_started(supervise: Supervise, terminal: bool) -> None:
    runner = supervise("no-such-program-anywhere", terminal=terminal)
    report = runner.wait_for_report("exited")
    assert report["code"] == 127
    assert report["problem"] == "No such file or directory: no-such-program-anywhere"
    assert [spooled["kind"] for spooled in runner.spooled()] == ["exited"]


def test_a_directory_that_does_not_exist_is_named_in_the_report(supervise: Supervise, terminal: bool) -> None:
    report = supervise("true", terminal=terminal, directory="/no/such/place").wait_for_report("exited")
    assert (report["code"], report["problem"]) == (127, "No such file or directory: /no/such/place")


def test_a_file_that_may_not_be_executed_is_named_in_the_report(supervise: Supervise, terminal: bool) -> None:
    report = supervise("/etc/passwd", terminal=terminal).wait_for_report("exited")
    assert (report["code"], report["problem"]) == (127, "Permission denied: /etc/passwd")
