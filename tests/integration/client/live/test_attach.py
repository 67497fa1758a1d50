"""`session attach` connects the person's terminal to an agent's terminal, and restores the person's terminal."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import pytest

from maestro.runner import process_tree
from maestro.testing.console import Console
from maestro.testing.supervised import wait_until
from maestro.testing.workshop import Workshop

Sit = Callable[..., Console]
DETACH = b"\x1d"
ECHO = "printf 'ready\\n'; while read -r line; do echo \"heard <$line>\"; done"


@pytest.fixture
def agent(shop: Workshop) -> Workshop:
    shop.spawn_session("--name", "parser", "--", "sh", "-c", ECHO)
    wait_until(
        lambda: "ready" in shop.run_maestro("session", "logs", "parser"), what="the first output of the session"
    )
    return shop


def test_attach_shows_earlier_output_passes_keys_to_the_program_and_detaches(agent: Workshop, sit: Sit) -> None:
    console = sit("session", "attach", "parser")
    greeting = console.wait_for_output(b"ready")
    assert b"attached to parser" in greeting and b"Ctrl-]" in greeting
    wait_until(lambda: console.is_raw, what="the change to raw mode")
    console.type_keys("grüße\r".encode())
    console.wait_for_output("heard <grüße>".encode())
    console.type_keys(b"half" + DETACH)
    assert console.wait_for_exit() == 0
    assert b"detached from parser" in console.shown and b"maestro session attach parser" in console.shown
    assert console.modes() == console.before
    assert agent.show_session("parser")["status"] == "working"
    assert "heard <grüße>" in agent.run_maestro("session", "logs", "parser")


@pytest.mark.parametrize("typed", [b"\x1b[93;5u", b"\x1b[93;5:1u", b"\x1b[27;5;93~"])
def test_the_detach_key_is_recognised_in_every_encoding(agent: Workshop, sit: Sit, typed: bytes) -> None:
    console = sit("session", "attach", "parser")
    console.wait_for_output(b"ready")
    console.type_keys(typed)
    assert console.wait_for_exit() == 0


def test_another_detach_key_can_be_chosen(agent: Workshop, sit: Sit) -> None:
    console = sit("session", "attach", "parser", "--detach-key", "ctrl-o")
    assert b"Ctrl-o" in console.wait_for_output(b"ready")
    console.type_keys(b"\x1dx\r")
    console.wait_for_output(b"heard <\x1dx>")
    console.type_keys(b"\x0f")
    assert console.wait_for_exit() == 0


def test_the_program_gets_the_size_of_the_terminal_and_every_change(shop: Workshop, sit: Sit) -> None:
    script = "trap 'echo now $(stty size)' WINCH; echo first $(stty size); while :; do sleep 0.05; done"
    shop.spawn_session("--name", "parser", "--", "sh", "-c", script)
    console = sit("session", "attach", "parser", columns=101, rows=33)
    console.wait_for_output(b"now 33 101")
    console.resize(64, 18)
    console.wait_for_output(b"now 18 64")
    smaller = sit("session", "attach", "parser", columns=70, rows=12)
    console.wait_for_output(b"now 12 64")
    smaller.type_keys(DETACH)
    assert smaller.wait_for_exit() == 0
    console.wait_for_output(b"now 18 64")


def test_several_terminals_attach_and_a_read_only_terminal_types_nothing(agent: Workshop, sit: Sit) -> None:
    one, two = sit("session", "attach", "parser"), sit("session", "attach", "parser")
    looks = sit("session", "attach", "parser", "--read-only", columns=20, rows=5)
    for console in (one, two, looks):
        console.wait_for_output(b"ready")
    looks.type_keys(b"not this\r")
    one.type_keys(b"but this\r")
    for console in (one, two, looks):
        assert b"not this" not in console.wait_for_output(b"heard <but this>")
    two.type_keys(b"and this\r")
    one.wait_for_output(b"heard <and this>")
    looks.type_keys(DETACH)
    assert looks.wait_for_exit() == 0
    assert "not this" not in agent.run_maestro("session", "logs", "parser")


def test_an_attached_terminal_survives_a_restart_of_the_server(agent: Workshop, sit: Sit) -> None:
    console = sit("session", "attach", "parser")
    console.wait_for_output(b"ready")
    agent.live.kill()
    console.type_keys(b"without\r")
    console.wait_for_output(b"heard <without>")
    agent.live.start()
    console.type_keys(b"again\r")
    console.wait_for_output(b"heard <again>")
    console.type_keys(DETACH)
    assert console.wait_for_exit() == 0


def test_the_view_ends_with_the_program(agent: Workshop, sit: Sit) -> None:
    console = sit("session", "attach", "parser")
    console.wait_for_output(b"ready")
    console.type_keys(b"last\r\x04")
    console.wait_for_output(b"heard <last>")
    assert console.wait_for_exit() == 0
    assert b"the end of parser (exit code 0)" in console.shown
    assert console.modes() == console.before


def test_attach_draws_the_screen_of_the_program_again_with_its_modes(shop: Workshop, sit: Sit) -> None:
    script = r"printf 'before\n\033[?1049h\033[?25l\033[H\033[2Jpicture\033[6n\033[3;1Hbelow\007'; read -r x"
    shop.spawn_session("--name", "parser", "--", "sh", "-c", script)
    wait_until(lambda: "below" in shop.run_maestro("session", "logs", "parser"), what="the picture of the program")
    console = sit("session", "attach", "parser")
    drawn = console.wait_for_output(b"below")
    assert b"\x1b[?1049h" in drawn and b"picture" in drawn and b"before" not in drawn
    assert b"\x1b[6n" not in drawn, (
        "the terminal would answer an old query, and the program would read the answer as keys"
    )
    console.type_keys(DETACH)
    assert console.wait_for_exit() == 0
    assert b"\x1b[?1049l" in console.shown and b"\x1b[?25h" in console.shown


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
@pytest.mark.parametrize("which", ["view", "keeper"])
def test_a_killed_view_leaves_the_terminal_in_its_earlier_state(
    agent: Workshop, sit: Sit, number: signal.Signals, which: str
) -> None:
    console = sit("session", "attach", "parser")
    console.wait_for_output(b"ready")
    wait_until(lambda: console.is_raw, what="the change to raw mode")
    (view,) = process_tree.find_descendants(console.process.pid)
    os.kill(console.process.pid if which == "keeper" else view, number)
    console.wait_for_exit()
    wait_until(lambda: console.modes() == console.before, what="the return of the terminal to its earlier state")
    assert agent.show_session("parser")["status"] == "working"


def test_the_view_ends_when_the_runner_is_killed(agent: Workshop, sit: Sit) -> None:
    console = sit("session", "attach", "parser")
    console.wait_for_output(b"ready")
    wait_until(lambda: console.is_raw, what="the change to raw mode")
    (note,) = agent.runner_notes()
    agent.live.kill()  # a live server would start the session again
    os.kill(note["runner"], signal.SIGKILL)
    assert console.wait_for_exit() == 1
    assert b"the runner of parser is gone" in console.shown and b"session explain parser" in console.shown
    assert console.modes() == console.before


def test_the_view_continues_with_a_session_that_is_started_again(agent: Workshop, sit: Sit) -> None:
    console = sit("session", "attach", "parser")
    console.wait_for_output(b"ready")
    (note,) = agent.runner_notes()
    os.kill(note["runner"], signal.SIGKILL)
    console.wait_for_output(b"ready")
    (again,) = agent.runner_notes()
    assert again["runner"] != note["runner"] and console.process.poll() is None


def test_a_session_or_client_without_a_terminal_is_refused_with_a_hint(agent: Workshop, sit: Sit) -> None:
    said = agent.run_maestro("session", "attach", "parser", exits=2)
    assert "must be a terminal" in said and "session logs parser -f" in said
    agent.run_maestro("session", "register", "--name", "by-hand", "--json")
    console = sit("session", "attach", "by-hand")
    assert console.wait_for_exit() == 5 and b"was not started by Maestro" in console.shown
    agent.run_maestro("session", "stop", "parser")
    agent.wait_for_session_end("parser")
    console = sit("session", "attach", "parser")
    assert (
        console.wait_for_exit() == 5
        and b"has ended (stopped)" in console.shown
        and b"session logs parser" in console.shown
    )


def test_an_agent_cannot_attach_to_itself(agent: Workshop) -> None:
    token = agent.spawn_session(
        "--name", "other", "--mode", "coordinate", "--", "sh", "-c", "echo $MAESTRO_TOKEN > t; cat"
    )
    wait_until(lambda: agent.read_words("t"), what="the token of the agent")
    answer = agent.live.run_command(
        "session", "attach", token["id"], "--json", env={"MAESTRO_TOKEN": agent.read_words("t")[0]}
    )
    assert answer.returncode == 5 and b"its own terminal" in answer.stderr


def test_a_stopped_view_does_not_block_the_program(shop: Workshop, sit: Sit) -> None:
    flood = "head -c 40000000 /dev/zero | tr '\\0' 'x'; touch done; cat"
    shop.spawn_session("--name", "parser", "--", "sh", "-c", f"read -r go; {flood}")
    console = sit("session", "attach", "parser")
    console.wait_for_output(b"attached to")
    wait_until(lambda: console.is_raw, what="the change to raw mode")
    shop.run_maestro("session", "prompt", "parser", "go")
    # The test does not read the console, so the terminal's buffer is full and the view is blocked.
    wait_until(lambda: (shop.repo / "done").exists(), what="the end of the large output")
    console.type_keys(DETACH)
    assert console.wait_for_exit() == 0
