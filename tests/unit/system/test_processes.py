"""Processes are found by a variable in their environment, if the system shows environments."""

from __future__ import annotations

import subprocess
import sys

import pytest

from maestro.system import processes

MARK = "MAESTRO_TEST_MARK"


def find_marked(value: str) -> tuple[int, list[int]]:
    """Start a process with a mark in its environment. Return its pid and the pids that a search by mark finds."""
    command = [sys.executable, "-c", "import sys; print(flush=True); sys.stdin.read()"]
    with subprocess.Popen(
        command, env={MARK: value}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == b"\n"
        found = [found.pid for found in processes.find_by_variable(MARK, value)]
        process.kill()
        return process.pid, found


@pytest.mark.skipif(not processes.HAS_READABLE_ENVIRONMENTS, reason="the system shows no environments")
def test_a_process_is_found_by_a_variable_and_its_whole_value() -> None:
    pid, found = find_marked("one")
    assert found == [pid]
    assert processes.find_by_variable(MARK, "on") == []


def test_without_readable_environments_no_process_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "HAS_READABLE_ENVIRONMENTS", False)
    _, found = find_marked("two")
    assert found == []
