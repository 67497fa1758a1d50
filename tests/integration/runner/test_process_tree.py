"""All processes that a program started are found and ended. Each case runs in its own subreaper process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from maestro.runner import process_tree
from maestro.testing.supervised import is_running, process_identity, wait_until

BEGIN = """
import os, signal, subprocess, sys, time
from maestro.runner import process_tree

def start(script):
    shell = subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE, text=True)
    return shell, int(shell.stdout.readline())

def is_gone(pid):
    return process_tree.process_start(pid) == ""
"""
DAEMON = "setsid sh -c \\'echo $$; exec sleep 600 >&-\\' & exit 0"
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has subreapers")


def run_script(script: str) -> None:
    done = subprocess.run([sys.executable, "-c", BEGIN + script], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_descendants_are_found_nearest_first() -> None:
    script = "sh -c 'echo $$; sleep 600 & echo $!; wait' & wait"
    with subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE, text=True) as shell:
        assert shell.stdout is not None
        child, grandchild = int(shell.stdout.readline()), int(shell.stdout.readline())
        assert process_tree.find_descendants(shell.pid) == [child, grandchild]
        assert process_tree.find_descendants(grandchild) == []
        process_tree.signal_all([grandchild, child, shell.pid], signal.SIGKILL)


def test_a_process_that_has_ended_has_no_start_and_takes_no_signal() -> None:
    child = subprocess.Popen(["true"])
    child.wait()
    assert process_tree.process_start(child.pid) == ""
    process_tree.signal_all([child.pid], signal.SIGKILL)


def test_the_start_of_a_process_stays_the_same() -> None:
    assert process_tree.process_start(os.getpid()) == process_tree.process_start(os.getpid()) != ""


@on_linux
def test_a_subreaper_adopts_a_process_that_left_its_session_and_its_parent() -> None:
    run_script(
        f"assert process_tree.adopt_orphans()\nshell, daemon = start('{DAEMON}')\nshell.wait()\n"
        "assert process_tree.find_descendants(os.getpid()) == [daemon]\n"
        "os.kill(daemon, signal.SIGKILL); os.waitpid(daemon, 0)\n"
    )


@on_linux
def test_all_descendants_end_also_those_that_ignore_the_first_signal() -> None:
    run_script(
        f"process_tree.adopt_orphans()\nshell, daemon = start('{DAEMON}')\nshell.wait()\n"
        "stubborn, _ = start('trap \"\" TERM; echo $$; while :; do sleep 1; done')\n"
        "process_tree._END_SECONDS = 0.2\n"
        "children = process_tree.ChildStatuses()\nprocess_tree.end_descendants(children)\n"
        "assert is_gone(daemon) and is_gone(stubborn.pid) and not process_tree.has_children()\n"
        "assert children.statuses[stubborn.pid] == signal.SIGKILL, children.statuses\n"
        "assert children.statuses[daemon] == signal.SIGTERM\n"
    )


def test_ending_descendants_does_not_wait_without_children() -> None:
    run_script(
        "assert not process_tree.has_children()\nchildren = process_tree.ChildStatuses()\n"
        "process_tree.end_descendants(children)\nassert children.statuses == {}\n"
    )


def test_every_ended_child_is_recorded_and_a_running_child_is_not() -> None:
    run_script(
        "children = process_tree.ChildStatuses()\nrunning = os.spawnlp(os.P_NOWAIT, 'sleep', 'sleep', '600')\n"
        "ended = [os.spawnlp(os.P_NOWAIT, 'sh', 'sh', '-c', f'exit {code}') for code in (3, 4)]\n"
        "while len(children.statuses) < 2: children.reap_children()\n"
        "assert {pid: os.WEXITSTATUS(status) for pid, status in children.statuses.items()} == dict(zip(ended, (3, 4)))\n"
        "assert process_tree.has_children()\nos.kill(running, signal.SIGKILL)\nos.waitpid(running, 0)\n"
        "assert not process_tree.has_children()\n"
    )


def test_a_killed_process_is_no_longer_the_same_process() -> None:
    child = subprocess.Popen(["sleep", "600"])
    identity = process_identity(child.pid)
    assert is_running(identity)
    child.kill()
    child.wait()
    wait_until(lambda: not is_running(identity))
