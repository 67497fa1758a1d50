"""A runner supervises one program: start, attached terminals, stop, and an end without left processes."""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import sys
from collections.abc import Callable

import pytest

from maestro.testing.supervised import SupervisedRunner, is_running, receive_frame, send_request, wait_until

Supervise = Callable[..., SupervisedRunner]
ECHO = 'while read -r line; do echo "heard $line"; done'
STUBBORN = "trap '' TERM INT HUP; echo $$ > pids; while :; do sleep 100; done"
FORKS = "sleep 1000 & first=$!; sh -c 'trap \"\" TERM HUP; sleep 1000 & wait' & echo $$ $first $! > pids; wait"
DAEMON = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGHUP, signal.SIG_IGN)
pids = [os.getpid()]
reading, writing = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.write(writing, b"%d" % os.getpid())
        for fd in (0, 1, 2): os.close(fd)
        while True: time.sleep(100)
    os._exit(0)
os.wait()
pids.append(int(os.read(reading, 20)))
open("part", "w").write(" ".join(map(str, pids)) + "\\n")
os.rename("part", "pids")
"""
STAYS = DAEMON + "while True: time.sleep(100)\n"
AGENTS = {
    "willing": ["sh", "-c", "echo $$ > pids; exec sleep 1000"],
    "stubborn": ["sh", "-c", STUBBORN],
    "forks": ["sh", "-c", FORKS],
    "daemonises": [sys.executable, "-c", STAYS],
    "floods": ["sh", "-c", "echo $$ > pids; trap '' TERM HUP; while :; do echo flood; done"],
}


def test_the_end_is_reported_with_the_exit_code_and_the_last_output(supervise: Supervise, terminal: bool) -> None:
    runner = supervise("sh", "-c", "echo first; echo last words >&2; exit 3", terminal=terminal)
    report = runner.wait_for_report("exited")
    assert (report["code"], report.get("signal"), report["asked"]) == (3, None, None)
    assert report["tail"].split() == ["first", "last", "words"]
    assert runner.transcript_output().split() == ["first", "last", "words"]


def test_a_program_that_a_signal_ends_is_reported_with_the_signal(supervise: Supervise, terminal: bool) -> None:
    report = supervise("sh", "-c", "kill -SEGV $$", terminal=terminal).wait_for_report("exited")
    assert (report["code"], report["signal"]) == (128 + 11, "SIGSEGV")


def test_a_program_that_ends_at_once_is_reported_as_started_and_ended(supervise: Supervise, terminal: bool) -> None:
    runners = [supervise("true", terminal=terminal) for _ in range(8)]
    for runner in runners:
        assert runner.wait_for_report("exited")["code"] == 0
        assert [spooled["kind"] for spooled in runner.spooled()] == ["started", "exited"]


def test_reports_without_a_server_are_on_the_disk_in_order(supervise: Supervise) -> None:
    runner = supervise("sh", "-c", "exit 4")
    runner.wait_for_report("exited")
    started, exited = runner.spooled()
    note = json.loads((runner.folder / "runner.json").read_text())
    assert (started["pid"], started["pid_started"]) == (note["program"], note["program_started"])
    assert (started["runner"], note["runner"]) == (runner.process.pid, runner.process.pid)
    assert exited["code"] == 4


def test_the_files_of_a_runner_are_closed_to_other_users(supervise: Supervise) -> None:
    runner = supervise("cat")
    runner.wait_for_report("started")
    for name in ("control.sock", "runner.lock", "transcript.cast"):
        assert stat.S_IMODE((runner.folder / name).stat().st_mode) & 0o077 == 0


def test_written_text_reaches_the_program_and_the_transcript(supervise: Supervise, terminal: bool) -> None:
    runner = supervise("sh", "-c", ECHO + "; echo bye", terminal=terminal)
    runner.wait_for_report("started")
    with runner.connect() as sock:
        send_request(sock, {"do": "attach"})
        assert receive_frame(sock)[0] == b"A"
        runner.write("grüße\n".encode())
        shown = b""
        while b"heard gr" not in shown:
            kind, payload = receive_frame(sock)
            assert kind == b"O"
            shown += payload
    assert any(event[1:] == ["i", "grüße\n"] for event in runner.events())


def test_an_attached_terminal_gets_earlier_output_and_the_exit_code(supervise: Supervise, terminal: bool) -> None:
    runner = supervise("sh", "-c", 'echo before; read -r line; echo "after $line"; exit 7', terminal=terminal)
    runner.wait_for_report("started")
    with runner.connect() as sock:
        send_request(sock, {"do": "attach"})
        kind, payload = receive_frame(sock)
        assert kind == b"A" and json.loads(payload)["program"] == runner.wait_for_report("started")["pid"]
        sock.sendall(b"D" + (5).to_bytes(4, "big") + b"that\n")
        shown = b""
        while (got := receive_frame(sock))[0] == b"O":
            shown += got[1]
    assert got == (b"X", b"7")
    assert b"before" in shown and b"after that" in shown


def test_a_program_that_closes_its_output_continues_to_run(supervise: Supervise) -> None:
    runner = supervise("sh", "-c", "exec >/dev/null 2>&1; read -r line; exit 5", terminal=False)
    runner.wait_for_report("started")
    runner.write(b"go on\n")
    assert runner.wait_for_report("exited")["code"] == 5


def test_the_terminal_gets_the_size_of_the_attached_terminal(supervise: Supervise) -> None:
    assert shutil.which("stty")
    runner = supervise("sh", "-c", "stty size > before; read -r line; stty size > after", rows=31, columns=77)
    assert runner.wait_for_file("before") == "31 77"
    with runner.connect() as sock:
        sock.sendall(b"Z" + (6).to_bytes(4, "big") + b"100 20")
        send_request(sock, {"do": "state"})
        assert receive_frame(sock)[0] == b"A"
    runner.write(b"go\n")
    assert runner.wait_for_file("after") == "20 100"


@pytest.mark.parametrize("name", AGENTS)
def test_a_stop_ends_the_program_and_all_its_descendants(supervise: Supervise, name: str, terminal: bool) -> None:
    runner = supervise(*AGENTS[name], terminal=terminal)
    family = runner.process_identities("pids")
    assert all(is_running(process) for process in family)
    assert runner.send_request(do="stop", by="dana")["ok"]
    assert runner.wait_for_report("exited")["asked"] == "dana"
    assert not [process for process in family if is_running(process)]


@pytest.mark.parametrize("script", [DAEMON, DAEMON + "sys.exit(6)\n"], ids=["well", "badly"])
def test_processes_that_a_program_leaves_end_with_the_program(
    supervise: Supervise, script: str, terminal: bool
) -> None:
    runner = supervise(sys.executable, "-c", script, terminal=terminal)
    family = runner.process_identities("pids")
    assert runner.wait_for_report("exited")["code"] == (6 if "exit(6)" in script else 0)
    assert not [process for process in family if is_running(process)]


def test_a_descendant_that_floods_the_output_does_not_delay_the_end(supervise: Supervise, terminal: bool) -> None:
    runner = supervise("sh", "-c", "yes & echo $! > pids; exit 2", terminal=terminal)
    assert runner.wait_for_report("exited")["code"] == 2
    assert not [process for process in runner.process_identities("pids") if is_running(process)]


def test_a_signal_to_the_runner_ends_its_program(supervise: Supervise) -> None:
    runner = supervise("sh", "-c", STUBBORN)
    family = runner.process_identities("pids")
    os.kill(runner.process.pid, signal.SIGTERM)
    assert runner.wait_for_report("exited")["asked"] == "signal"
    assert not [process for process in family if is_running(process)]


def test_an_interrupt_reaches_the_program_and_is_no_stop(supervise: Supervise, terminal: bool) -> None:
    script = "trap 'echo caught > caught; exit 9' INT; echo up > up; while :; do sleep 0.05; done"
    runner = supervise("sh", "-c", script, terminal=terminal)
    assert runner.wait_for_file("up") == "up"
    assert runner.send_request(do="interrupt")["ok"]
    report = runner.wait_for_report("exited")
    assert (report["code"], report["asked"], runner.wait_for_file("caught")) == (9, None, "caught")


def test_a_program_whose_runner_is_killed_ends_with_its_terminal(supervise: Supervise) -> None:
    runner = supervise("sh", "-c", "echo $$ > pids; exec sleep 1000")
    family = runner.process_identities("pids")
    runner.process.kill()
    wait_until(lambda: not [process for process in family if is_running(process)], what="the end of the program")


def finish_while_attached(runner: SupervisedRunner, typed: bytes) -> None:
    """Attach a terminal, finish the program, type some keys, and detach the terminal."""
    with runner.connect() as sock:
        send_request(sock, {"do": "attach"})
        assert receive_frame(sock)[0] == b"A"
        assert runner.send_request(do="finish")["ok"]
        sock.sendall(b"D" + len(typed).to_bytes(4, "big") + typed)
        wait_until(lambda: any(event[1] == "i" for event in runner.events()), what="the arrival of the keys")


def test_a_finished_program_ends_when_the_person_detaches(supervise: Supervise) -> None:
    runner = supervise("cat")
    runner.wait_for_report("started")
    finish_while_attached(runner, b"only looked on")
    assert runner.wait_for_report("exited")["asked"] == "the end of its input"


@pytest.mark.parametrize("enter", [b"\r", b"\n", b"\x1b[13u"])
def test_a_finished_program_that_gets_a_new_line_continues_until_the_next_finish(
    supervise: Supervise, enter: bytes
) -> None:
    runner = supervise("cat")
    runner.wait_for_report("started")
    finish_while_attached(runner, b"new work" + enter)
    wait_until(lambda: runner.send_request(do="state")["attached"] == 0, what="the detachment")
    assert runner.send_request(do="state")["stopping"] is None
    assert runner.send_request(do="finish")["ok"]
    assert runner.wait_for_report("exited")["asked"] == "the end of its input"
