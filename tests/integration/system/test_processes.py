"""Facts about real processes: parents, start times, names, terminals, environments."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from maestro.system import processes
from maestro.testing.supervised import wait_until


@contextmanager
def running(*arguments: str, **options: object) -> Iterator[subprocess.Popen[bytes]]:
    """Start a process, and kill it at the end."""
    process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **options)  # type: ignore[call-overload]
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def test_a_process_is_found_with_its_parent_and_a_lasting_start_time() -> None:
    with running("cat") as child:
        found = processes.find_process(child.pid)
        assert found is not None and found.parent_pid == os.getpid() and not found.has_ended
        again = processes.find_process(child.pid)
        assert again is not None and again.started == found.started


def test_a_process_that_was_reaped_does_not_exist() -> None:
    child = subprocess.Popen(["true"])
    child.wait()
    assert processes.find_process(child.pid) is None


def test_a_process_that_waits_to_be_reaped_has_ended() -> None:
    child = subprocess.Popen(["true"])
    try:
        ended = wait_until(lambda: (found := processes.find_process(child.pid)) and found.has_ended)
        assert ended
    finally:
        child.wait()


@pytest.mark.skipif(sys.platform != "linux", reason="only this query returns the name")
def test_a_program_name_with_brackets_and_spaces_is_read_correctly(tmp_path: Path) -> None:
    program = tmp_path / "a) Z (b"
    program.symlink_to("/bin/cat")
    with running(str(program)) as child:
        found = wait_until(
            lambda: (present := processes.find_process(child.pid)) and present.name == "a) Z (b" and present
        )
        assert found.parent_pid == os.getpid() and not found.has_ended
        assert processes.program_name(child.pid) == "a) Z (b"


def test_a_process_that_does_not_exist_has_no_name_no_terminal_and_leads_no_session() -> None:
    child = subprocess.Popen(["true"])
    child.wait()
    assert processes.program_name(child.pid) == ""
    assert not processes.has_terminal(child.pid) and not processes.is_session_leader(child.pid)


def test_a_process_in_a_session_of_its_own_leads_it_and_has_no_terminal() -> None:
    with running("cat", start_new_session=True) as leader, running("cat") as follower:
        assert processes.is_session_leader(leader.pid) and not processes.is_session_leader(follower.pid)
        assert not processes.has_terminal(leader.pid)


def test_the_first_process_of_a_terminal_has_the_terminal() -> None:
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvp("sh", ["sh", "-c", "echo ready; exec cat"])
    try:
        assert os.read(terminal, 5) == b"ready"
        assert processes.has_terminal(pid) and processes.is_session_leader(pid)
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(terminal)


def test_ancestors_lead_from_the_process_to_the_first_process() -> None:
    with running("cat") as child:
        chain = processes.ancestors_of(child.pid)
    assert [process.pid for process in chain[:2]] == [child.pid, os.getpid()]
    assert chain[-1].parent_pid == 0


def test_ancestors_of_a_process_that_does_not_exist_are_unreadable() -> None:
    child = subprocess.Popen(["true"])
    child.wait()
    with pytest.raises(processes.AncestryUnreadable):
        processes.ancestors_of(child.pid)


def test_descendants_include_grandchildren_and_no_other_processes() -> None:
    with running("sh", "-c", "sleep 600 & echo $!; cat") as shell, running("cat") as sibling:
        assert shell.stdout is not None
        grandchild = int(shell.stdout.readline())
        pids = [process.pid for process in processes.descendants_of(shell.pid)]
        assert grandchild in pids and shell.pid not in pids and sibling.pid not in pids
        assert {shell.pid, sibling.pid, grandchild} <= {
            process.pid for process in processes.descendants_of(os.getpid())
        }
        os.kill(grandchild, signal.SIGKILL)


@pytest.mark.skipif(sys.platform != "linux", reason="the environment of processes is visible only in /proc")
def test_processes_are_found_by_the_whole_value_of_a_variable() -> None:
    mark = uuid.uuid4().hex
    with running("cat", env={"MARK": mark}) as marked, running("cat", env={"MARK": f"{mark}0", "X": f"MARK={mark}"}):
        wait_until(lambda: processes.find_by_variable("MARK", mark))
        assert [process.pid for process in processes.find_by_variable("MARK", mark)] == [marked.pid]
        assert processes.find_by_variable("MARK", mark[:-1]) == []
