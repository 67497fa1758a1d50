"""A stop leaves nothing behind, whatever an agent did to get away."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable

import pytest

from maestro.testing.supervised import SupervisedRunner, is_running, receive_frame, send_request, wait_until

Supervise = Callable[..., SupervisedRunner]
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


@pytest.mark.parametrize("name", AGENTS)
def test_a_stop_ends_everything(supervise: Supervise, name: str, terminal: bool) -> None:
    one = supervise(*AGENTS[name], terminal=terminal)
    family = one.process_identities("pids")
    assert all(is_running(process) for process in family)
    assert one.send_request(do="stop", by="dana")["ok"]
    assert one.wait_for_report("exited")["asked"] == "dana"
    assert not [process for process in family if is_running(process)]


@pytest.mark.parametrize("script", [DAEMON, DAEMON + "sys.exit(6)\n"], ids=["well", "badly"])
def test_what_an_agent_leaves_behind_ends_with_it(supervise: Supervise, script: str, terminal: bool) -> None:
    one = supervise(sys.executable, "-c", script, terminal=terminal)
    family = one.process_identities("pids")
    assert one.wait_for_report("exited")["code"] == (6 if "exit(6)" in script else 0)
    assert not [process for process in family if is_running(process)]


def test_one_that_is_left_behind_and_floods_does_not_keep_the_end_from_coming(
    supervise: Supervise, terminal: bool
) -> None:
    one = supervise("sh", "-c", "yes & echo $! > pids; exit 2", terminal=terminal)
    assert one.wait_for_report("exited")["code"] == 2
    assert not [process for process in one.process_identities("pids") if is_running(process)]


def test_a_runner_that_is_told_to_end_ends_its_agent(supervise: Supervise) -> None:
    one = supervise("sh", "-c", STUBBORN)
    family = one.process_identities("pids")
    os.kill(one.process.pid, signal.SIGTERM)
    assert one.wait_for_report("exited")["asked"] == "signal"
    assert not [process for process in family if is_running(process)]


def test_an_interrupt_is_the_agents_to_answer(supervise: Supervise, terminal: bool) -> None:
    script = "trap 'echo caught > caught; exit 9' INT; echo up > up; while :; do sleep 0.05; done"
    one = supervise("sh", "-c", script, terminal=terminal)
    assert one.wait_for_file("up") == "up"
    assert one.send_request(do="signal", name="nonsense")["ok"] is False
    assert one.send_request(do="signal", name="int")["ok"]
    told = one.wait_for_report("exited")
    assert (told["code"], told["asked"], one.wait_for_file("caught")) == (9, None, "caught")


def test_an_agent_whose_runner_is_killed_loses_its_terminal(supervise: Supervise) -> None:
    one = supervise("sh", "-c", "echo $$ > pids; exec sleep 1000")
    family = one.process_identities("pids")
    one.process.kill()
    wait_until(lambda: not [process for process in family if is_running(process)], what="the end of the agent")


def _done_while_attached(one: SupervisedRunner, typed: bytes) -> None:
    """Someone is at it when it may end, types something, and goes."""
    with one.connect() as sock:
        send_request(sock, {"do": "attach"})
        assert receive_frame(sock)[0] == b"A"
        assert one.send_request(do="finish")["ok"]
        sock.sendall(b"D" + len(typed).to_bytes(4, "big") + typed)
        wait_until(lambda: any(event[1] == "i" for event in one.events()), what="the keys")


def test_one_that_is_done_ends_when_its_person_goes(supervise: Supervise) -> None:
    one = supervise("cat")
    one.wait_for_report("started")
    _done_while_attached(one, b"only looked on")
    assert one.wait_for_report("exited")["asked"] == "its own end"


@pytest.mark.parametrize("enter", [b"\r", b"\n", b"\x1b[13u"])
def test_one_that_was_told_something_new_goes_on_until_it_is_done_again(supervise: Supervise, enter: bytes) -> None:
    one = supervise("cat")
    one.wait_for_report("started")
    _done_while_attached(one, b"new work" + enter)
    wait_until(lambda: one.send_request(do="state")["attached"] == 0, what="their going")
    assert one.send_request(do="state")["stopping"] is None
    assert one.send_request(do="finish")["ok"]
    assert one.wait_for_report("exited")["asked"] == "its own end"
