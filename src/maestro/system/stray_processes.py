"""Kill the processes that are left of a command which was started with a mark in its environment.

A process passes the mark on to all processes that it starts, also to those that leave its process group, its session
and its parent. Without readable environments (macOS) no process is found, and processes that left the group stay.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time

from maestro.system.processes import AncestryUnreadable, Process, ancestors_of, find_by_variable, find_process

_ROUNDS_MAX = 100
_ROUND_SECONDS = 0.02


def kill_marked(name: str, value: str) -> None:
    """Kill all processes with a variable in their environment, except this process and its ancestors.

    The search is repeated until it finds no process, because a process may start another one meanwhile.
    """
    spared = _own_pids()
    for _ in range(_ROUNDS_MAX):
        strays = [process for process in find_by_variable(name, value) if process.pid not in spared]
        if not strays:
            return
        kill_processes(strays)
        time.sleep(_ROUND_SECONDS)


def kill_processes(processes: list[Process]) -> None:
    """Kill processes, but not later processes with the same pids."""
    for process in processes:
        present = find_process(process.pid)
        if present is not None and present.started == process.started:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process.pid, signal.SIGKILL)


def _own_pids() -> set[int]:
    try:
        return {process.pid for process in ancestors_of(os.getpid())}
    except AncestryUnreadable:
        return {os.getpid()}
