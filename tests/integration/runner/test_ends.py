"""How a runner says that its agent ended, on a terminal and on pipes."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable

from maestro.testing.supervised import SupervisedRunner

Supervise = Callable[..., SupervisedRunner]


def test_an_exit_code_and_the_last_words(supervise: Supervise, terminal: bool) -> None:
    one = supervise("sh", "-c", "echo first; echo last words >&2; exit 3", terminal=terminal)
    told = one.wait_for_report("exited")
    assert (told["code"], told.get("signal"), told["asked"]) == (3, None, None)
    assert told["tail"].split() == ["first", "last", "words"]
    assert one.transcript_output().split() == ["first", "last", "words"]


def test_a_signal(supervise: Supervise, terminal: bool) -> None:
    told = supervise("sh", "-c", "kill -SEGV $$", terminal=terminal).wait_for_report("exited")
    assert (told["code"], told["signal"]) == (128 + 11, "SIGSEGV")


def test_a_program_that_is_not_there(supervise: Supervise, terminal: bool) -> None:
    one = supervise("no-such-program-anywhere", terminal=terminal)
    told = one.wait_for_report("exited")
    assert told["code"] == 127
    assert told["problem"] == "No such file or directory: no-such-program-anywhere"
    assert [report["kind"] for report in one.spooled()] == ["exited"]


def test_a_directory_that_is_not_there(supervise: Supervise, terminal: bool) -> None:
    told = supervise("true", terminal=terminal, directory="/no/such/place").wait_for_report("exited")
    assert (told["code"], told["problem"]) == (127, "No such file or directory: /no/such/place")


def test_a_program_that_may_not_be_run(supervise: Supervise, terminal: bool) -> None:
    told = supervise("/etc/passwd", terminal=terminal).wait_for_report("exited")
    assert (told["code"], told["problem"]) == (127, "Permission denied: /etc/passwd")


def test_programs_that_end_at_once(supervise: Supervise, terminal: bool) -> None:
    many = [supervise("true", terminal=terminal) for _ in range(8)]
    for one in many:
        assert one.wait_for_report("exited")["code"] == 0
        assert [report["kind"] for report in one.spooled()] == ["started", "exited"]


def test_what_could_not_be_delivered_is_on_the_disk_in_order(supervise: Supervise) -> None:
    one = supervise("sh", "-c", "exit 4")
    one.wait_for_report("exited")
    started, exited = one.spooled()
    note = json.loads((one.folder / "runner.json").read_text())
    assert (started["pid"], started["pid_started"]) == (note["agent"], note["agent_started"])
    assert (started["runner"], note["runner"]) == (one.process.pid, one.process.pid)
    assert exited["code"] == 4


def test_what_a_runner_keeps_is_for_its_owner_alone(supervise: Supervise) -> None:
    one = supervise("cat")
    one.wait_for_report("started")
    for name in ("control.sock", "runner.lock", "transcript.cast"):
        assert stat.S_IMODE((one.folder / name).stat().st_mode) & 0o077 == 0


def test_a_second_runner_for_a_session_leaves_at_once(supervise: Supervise) -> None:
    one = supervise("cat")
    one.wait_for_report("started")
    second = one.start_runner()
    assert second.wait(30) == 0
    assert one.send_request(do="state")["runner"] == one.process.pid
    assert one.process.poll() is None
