"""`session logs --follow` shows the output of a program until its end, also while no server runs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable

from maestro.testing.console import Console
from maestro.testing.supervised import wait_until
from maestro.testing.workshop import Workshop

Sit = Callable[..., Console]
STEPS = "for step in one two three; do while [ ! -e $step ]; do sleep 0.02; done; echo did $step; done; exit 4"


def line(following: subprocess.Popen[bytes]) -> str:
    assert following.stdout is not None
    return following.stdout.readline().decode()


def test_logs_follow_to_the_end_also_without_a_server(shop: Workshop) -> None:
    shop.spawn_session("--name", "parser", "--", "sh", "-c", f"echo begin; {STEPS}")
    following = shop.live.start_command("session", "logs", "parser", "-f", cwd=shop.repo)
    try:
        assert line(following) == "begin\n"
        (shop.repo / "one").touch()
        assert line(following) == "did one\n"
        shop.live.kill()
        (shop.repo / "two").touch()
        assert line(following) == "did two\n"
        shop.live.start()
        (shop.repo / "three").touch()
        out, err = following.communicate(timeout=30)
    finally:
        following.kill()
    assert out == b"did three\n" and following.returncode == 0
    assert err == b"[parser has ended with exit code 4]\n"


def test_logs_show_all_lines_or_the_last_lines_of_an_ended_session(shop: Workshop) -> None:
    shop.spawn_session("--name", "parser", "--", "sh", "-c", "for n in 1 2 3 4 5; do echo line $n; done")
    shop.wait_for_session_end("parser")
    assert shop.run_maestro("session", "logs", "parser", "-f").splitlines() == [f"line {n}" for n in range(1, 6)]
    assert shop.run_maestro("session", "logs", "parser", "-f", "--tail", "2") == "line 4\nline 5\n"
    assert shop.run_maestro("session", "logs", "parser", "--tail", "2") == "line 4\nline 5\n"
    assert shop.run_maestro("session", "logs", "parser", "-f", "--tail", "0") == ""


def test_logs_in_json_are_an_asciicast(shop: Workshop) -> None:
    shop.spawn_session(
        "--name", "parser", "--", "sh", "-c", "printf '\\033[1mbold\\033[0m \\342\\200\\250\\n'; sleep 0.2; exit 3"
    )
    told = [
        json.loads(each) for each in shop.run_maestro("session", "logs", "parser", "-f", "--json").split("\n") if each
    ]
    assert told[0]["version"] == 2 and told[0]["width"] == 120
    assert "".join(event[2] for event in told[1:] if event[1] == "o") == "\x1b[1mbold\x1b[0m \u2028\r\n"
    assert told[-1][1:] == ["m", "ended with 3"]
    last = shop.run_maestro("session", "logs", "parser", "-f", "--json", "--tail", "1").splitlines()
    assert [json.loads(each) for each in last[1:]] == [told[-1]]


def test_no_line_is_lost_or_repeated_when_a_new_transcript_file_begins(shop: Workshop) -> None:
    count = 200_000  # more output than one transcript file holds
    script = f"echo begin; while [ ! -e go ]; do sleep 0.02; done; seq -f 'number %.0f of many' {count}"
    shop.spawn_session("--name", "parser", "--", "sh", "-c", script)
    following = shop.live.start_command("session", "logs", "parser", "-f", cwd=shop.repo)
    try:
        assert line(following) == "begin\n"
        (shop.repo / "go").touch()
        out, err = following.communicate(timeout=60)
    finally:
        following.kill()
    assert following.returncode == 0, err
    assert (shop.runner_folder(shop.show_session("parser")["id"]) / "transcript-older.cast").exists()
    assert out.decode().splitlines() == [f"number {n} of many" for n in range(1, count + 1)]


def test_a_question_is_shown_before_its_line_ends(shop: Workshop, sit: Sit) -> None:
    shop.spawn_session("--name", "parser", "--", "sh", "-c", "printf '\\033[33mGo on? '; read -r x; echo $x")
    console = sit("session", "logs", "parser", "-f")
    assert b"\x1b[33m" in console.wait_for_output(b"Go on? ")
    shop.run_maestro("session", "prompt", "parser", "yes")
    console.wait_for_output(b"yes")
    assert console.wait_for_exit() == 0


def test_ctrl_c_ends_the_logs_and_not_the_program(shop: Workshop, sit: Sit) -> None:
    shop.spawn_session("--name", "parser", "--", "sh", "-c", "echo begin; cat")
    console = sit("session", "logs", "parser", "-f")
    console.wait_for_output(b"begin")
    console.type_keys(b"\x03")
    assert console.wait_for_exit() == 130
    assert shop.show_session("parser")["status"] == "working"


def test_the_logs_end_when_the_runner_is_killed(shop: Workshop, sit: Sit) -> None:
    shop.spawn_session("--name", "parser", "--", "sh", "-c", "echo begin; cat")
    console = sit("session", "logs", "parser", "-f")
    console.wait_for_output(b"begin")
    (note,) = wait_until(shop.runner_notes, what="the runner's identity file")
    shop.live.kill()  # a live server would start the session again, and the logs would continue
    os.kill(note["runner"], signal.SIGKILL)
    assert console.wait_for_exit() == 0
    assert b"does not run any more" in console.shown


def test_a_registered_session_has_no_transcript(shop: Workshop) -> None:
    shop.run_maestro("session", "register", "--name", "by-hand", "--json")
    assert "was not started by Maestro" in shop.run_maestro("session", "logs", "by-hand", "-f", exits=5)
