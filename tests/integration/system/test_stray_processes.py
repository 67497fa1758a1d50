"""Processes of a marked command are killed, also those that left their group; other processes stay."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid

import pytest

from maestro.system import stray_processes
from maestro.system.processes import Process, find_process
from maestro.testing.supervised import wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are found by their environment in /proc")


def start_marked(mark: str, script: str = "echo $$; exec sleep 600") -> subprocess.Popen[str]:
    environment = {"PATH": os.environ["PATH"], "MARK": mark}
    return subprocess.Popen(["sh", "-c", script], env=environment, stdout=subprocess.PIPE, text=True)


def has_ended(pid: int) -> bool:
    found = find_process(pid)
    return found is None or found.has_ended


def test_a_process_that_left_its_group_and_its_parent_is_killed() -> None:
    mark = uuid.uuid4().hex
    shell = start_marked(mark, "setsid sh -c 'echo $$; exec sleep 600 >&-' & wait $!")
    assert shell.stdout is not None
    stray = int(shell.stdout.readline())
    stray_processes.kill_marked("MARK", mark)
    assert shell.wait(10) != 0
    wait_until(lambda: has_ended(stray))
    shell.stdout.close()


def test_a_process_with_another_mark_stays() -> None:
    other = start_marked(uuid.uuid4().hex)
    try:
        assert other.stdout is not None and other.stdout.readline()
        stray_processes.kill_marked("MARK", uuid.uuid4().hex)
        assert other.poll() is None
    finally:
        other.kill()
        other.communicate()


def test_the_caller_and_its_ancestors_are_not_killed() -> None:
    mark = uuid.uuid4().hex
    script = (
        "import subprocess, sys; from maestro.system import stray_processes\n"
        "child = subprocess.Popen(['sleep', '600'])\n"
        f"stray_processes.kill_marked('MARK', {mark!r})\n"
        "sys.exit(0 if child.wait(10) == -9 else 1)\n"
    )
    environment = {**os.environ, "MARK": mark}
    done = subprocess.run(
        ["sh", "-c", '"$@"; exit $?', "sh", sys.executable, "-c", script], env=environment, timeout=30
    )
    assert done.returncode == 0


def test_a_later_process_with_the_same_pid_is_not_killed() -> None:
    process = start_marked(uuid.uuid4().hex)
    try:
        found = find_process(process.pid)
        assert found is not None
        stray_processes.kill_processes([Process(found.pid, found.parent_pid, "an earlier start")])
        assert process.stdout is not None and process.stdout.readline() and process.poll() is None
        stray_processes.kill_processes([found])
        assert process.wait(10) == -9
    finally:
        process.kill()
        process.communicate()
