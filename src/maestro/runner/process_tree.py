"""Find all processes that a program started, and end all of them.

The runner is a subreaper, if the system supports that: a process that forks twice or makes its own session still
becomes a child of the runner.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time

from maestro.system import boot_id

_PR_SET_CHILD_SUBREAPER = 36
_END_SECONDS = 2.0


def adopt_orphans() -> bool:
    """Become the parent of orphaned descendants; return False if the system does not support that."""
    if sys.platform != "linux":
        return False
    done: int = ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    return done == 0


def has_children() -> bool:
    """Return whether this process has any child. This check is cheap; a search for all descendants is not."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def find_descendants(root: int) -> list[int]:
    """Return all descendants of a process, nearest first."""
    children: dict[int, list[int]] = {}
    for pid, parent in _all_parents():
        children.setdefault(parent, []).append(pid)
    pids: list[int] = []
    waiting = list(children.get(root, ()))
    while waiting:
        pid = waiting.pop(0)
        pids.append(pid)
        waiting.extend(children.get(pid, ()))
    return pids


def signal_all(pids: list[int], number: signal.Signals) -> None:
    """Send a signal to each process; ignore processes that have just ended."""
    for pid in pids:
        try:
            os.kill(pid, number)
        except (ProcessLookupError, PermissionError):
            continue


class ChildStatuses:
    """The exit statuses of all children, also of children that end before the runner knows their purpose."""

    def __init__(self) -> None:
        self.statuses: dict[int, int] = {}

    def reap_children(self) -> None:
        """Record the exit status of each child that has ended."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            self.statuses[pid] = status


def end_descendants(children: ChildStatuses) -> None:
    """End all remaining descendants: first with SIGTERM, after a grace period with SIGKILL."""
    if not has_children():
        return
    ends = time.monotonic() + _END_SECONDS
    left = find_descendants(os.getpid())
    signal_all(left, signal.SIGTERM)
    while left:
        children.reap_children()
        if time.monotonic() > ends:
            signal_all(left, signal.SIGKILL)
        time.sleep(0.02)
        left = find_descendants(os.getpid())


def process_start(pid: int) -> str:
    """Return the start time of a process as the system formats it. Pid and start time identify a process."""
    return _started_by_proc(pid) if sys.platform == "linux" else _run_ps("lstart=", "-p", str(pid)).strip()


def _started_by_proc(pid: int) -> str:
    fields = _stat_fields(pid)
    return boot_id.unique_start_time(fields[19].decode()) if fields else ""


def _all_parents() -> list[tuple[int, int]]:
    return _parents_by_proc() if sys.platform == "linux" else _parents_by_ps()


def _parents_by_proc() -> list[tuple[int, int]]:
    pids = map(int, filter(str.isdigit, os.listdir("/proc")))
    return [(pid, parent) for pid in pids if (parent := _parent_of(pid))]


def _parents_by_ps() -> list[tuple[int, int]]:
    lines = _run_ps("pid=,ppid=", "-ax").splitlines()
    return [(int(pid), int(parent)) for pid, parent in (line.split() for line in lines)]


def _run_ps(columns: str, *options: str) -> str:
    import subprocess

    done = subprocess.run(["ps", "-o", columns, *options], capture_output=True, text=True, check=False, timeout=5)
    return done.stdout


def _parent_of(pid: int) -> int:
    fields = _stat_fields(pid)
    return int(fields[1]) if fields else 0


def _stat_fields(pid: int) -> list[bytes]:
    try:
        descriptor = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return []
    try:
        text = os.read(descriptor, 4096)
    except OSError:
        return []
    finally:
        os.close(descriptor)
    return text[text.rindex(b")") + 2 :].split()  # the name in brackets may hold brackets and spaces
