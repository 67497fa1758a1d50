"""Everything an agent started, however it hid: found through the system, ended to the last one.

The runner is a subreaper where the system has that: whoever forks twice or makes a session of its own still becomes
the runner's child in the end.
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
    """Become the parent of whatever descends from us and loses its own. False where the system cannot."""
    if sys.platform != "linux":
        return False
    done: int = ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    return done == 0


def has_children() -> bool:
    """Whether any process is below this one: to ask that is cheap, to look for them all is not."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def descendants(root: int) -> list[int]:
    """All processes below one, nearest first."""
    children: dict[int, list[int]] = {}
    for pid, parent in _parents():
        children.setdefault(parent, []).append(pid)
    found: list[int] = []
    waiting = list(children.get(root, ()))
    while waiting:
        pid = waiting.pop(0)
        found.append(pid)
        waiting.extend(children.get(pid, ()))
    return found


def signal_all(pids: list[int], number: signal.Signals) -> None:
    """Tell each; one that has just ended is none of our business."""
    for pid in pids:
        try:
            os.kill(pid, number)
        except (ProcessLookupError, PermissionError):
            continue


class Children:
    """How every child of ours ended, also before anyone knew what it was."""

    def __init__(self) -> None:
        self.statuses: dict[int, int] = {}

    def reap(self) -> None:
        """Take note of who has ended."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            self.statuses[pid] = status


def end_all(children: Children) -> None:
    """Whoever is left below us: first asked, then not."""
    if not has_children():
        return
    ends = time.monotonic() + _END_SECONDS
    left = descendants(os.getpid())
    signal_all(left, signal.SIGTERM)
    while left:
        children.reap()
        if time.monotonic() > ends:
            signal_all(left, signal.SIGKILL)
        time.sleep(0.02)
        left = descendants(os.getpid())


def started(pid: int) -> str:
    """When a process started, in the system's own words: with the pid, that is an identity (as in `processes`)."""
    return _started_by_proc(pid) if sys.platform == "linux" else _by_ps("lstart=", "-p", str(pid)).strip()


def _started_by_proc(pid: int) -> str:
    fields = _stat(pid)
    return boot_id.since(fields[19].decode()) if fields else ""


def _parents() -> list[tuple[int, int]]:
    return _parents_by_proc() if sys.platform == "linux" else _parents_by_ps()


def _parents_by_proc() -> list[tuple[int, int]]:
    pids = map(int, filter(str.isdigit, os.listdir("/proc")))
    return [(pid, parent) for pid in pids if (parent := _parent(pid))]


def _parents_by_ps() -> list[tuple[int, int]]:
    lines = _by_ps("pid=,ppid=", "-ax").splitlines()
    return [(int(pid), int(parent)) for pid, parent in (line.split() for line in lines)]


def _by_ps(columns: str, *words: str) -> str:
    import subprocess

    told = subprocess.run(["ps", "-o", columns, *words], capture_output=True, text=True, check=False, timeout=5)
    return told.stdout


def _parent(pid: int) -> int:
    fields = _stat(pid)
    return int(fields[1]) if fields else 0


def _stat(pid: int) -> list[bytes]:
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
    return text[text.rindex(b")") + 2 :].split()  # the name in brackets may itself hold brackets and spaces
