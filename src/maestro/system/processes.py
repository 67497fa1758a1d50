"""Facts of the operating system about processes: parents, start times, names, environments.

A pid alone does not identify a process, because the system reuses pids. Pid, start time and boot id together do.
"""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import msgspec

from maestro.core import limits
from maestro.system import boot_id

HAS_READABLE_ENVIRONMENTS = sys.platform == "linux"


class Process(msgspec.Struct, frozen=True):
    """A process at the time of the query."""

    pid: int
    parent_pid: int
    started: str
    has_ended: bool = False  # a zombie, which waits for its parent to reap it
    name: str = ""  # the name of the process, if the query returns it


class AncestryUnreadable(Exception):
    """The chain of parents could not be read to its end."""


def find_process(pid: int) -> Process | None:
    """Return the process with a pid; None if it does not exist or is hidden.

    Raise OSError if the query itself fails.
    """
    return _from_proc(pid) if sys.platform == "linux" else _from_ps(pid)


def program_name(pid: int) -> str:
    """Return the name of the program that a process runs; empty if the name cannot be read."""
    try:
        return _name_from_proc(pid) if sys.platform == "linux" else _name_from_ps(pid)
    except OSError:
        return ""


def _name_from_proc(pid: int) -> str:
    return Path(f"/proc/{pid}/comm").read_text().strip()


def _name_from_ps(pid: int) -> str:
    command = ["ps", "-o", "comm=", "-p", str(pid)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False, timeout=5)
    return Path(answer.stdout.strip()).name.lstrip("-")


def is_session_leader(pid: int) -> bool:
    """Return whether a process leads a session of the system, as the first process of a terminal or login does."""
    try:
        return os.getsid(pid) == pid
    except OSError:
        return False


def has_terminal(pid: int) -> bool:
    """Return whether a process has a controlling terminal, which a person may use."""
    try:
        return _terminal_from_proc(pid) if sys.platform == "linux" else _terminal_from_ps(pid)
    except (OSError, ValueError):
        return False


def _terminal_from_proc(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[4] != "0"


def _terminal_from_ps(pid: int) -> bool:
    command = ["ps", "-o", "tty=", "-p", str(pid)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False, timeout=5)
    return answer.stdout.strip() not in ("", "?", "??")


def ancestors_of(pid: int) -> list[Process]:
    """Return a process and all its ancestors up to the first process of the system."""
    chain: list[Process] = []
    while pid > 0:
        try:
            process = find_process(pid)
        except OSError as error:
            raise AncestryUnreadable(f"process {pid} cannot be read") from error
        if process is None or len(chain) >= limits.ancestry_depth_max:
            raise AncestryUnreadable(f"process {pid} cannot be read")
        chain.append(process)
        pid = process.parent_pid
    return chain


def descendants_of(pid: int) -> list[Process]:
    """Return all present descendants of a process."""
    children: dict[int, list[Process]] = {}
    for process in _all_processes():
        children.setdefault(process.parent_pid, []).append(process)
    descendants: list[Process] = []
    pending = [pid]
    while pending:
        for process in children.pop(pending.pop(), ()):
            descendants.append(process)
            pending.append(process.pid)
    return descendants


def find_by_variable(name: str, value: str) -> list[Process]:
    """Return the processes that were started with a variable in their environment; on macOS always none.

    A process passes the variable on to all processes that it starts, also to those that leave its process group, its
    session and its parent. macOS has no /proc, and another way to read environments was not tested there. The
    consequences are in docs/recovery.md.
    """
    if not HAS_READABLE_ENVIRONMENTS:
        return []
    wanted = os.fsencode(f"{name}={value}")
    return [
        process
        for process in _all_processes()
        if not process.has_ended and wanted in _read_environment(process.pid).split(b"\0")
    ]


def _all_processes() -> list[Process]:
    return _all_from_proc() if sys.platform == "linux" else _all_from_ps()


def _all_from_proc() -> list[Process]:
    with os.scandir("/proc") as entries:
        pids = [int(entry.name) for entry in entries if entry.name.isdigit()]
    return [found for pid in pids if (found := _from_proc(pid))]


def _all_from_ps() -> list[Process]:
    answer = subprocess.run(
        ["ps", "-axo", "pid=,ppid=,stat=,lstart="], capture_output=True, text=True, check=False, timeout=5
    )
    rows = [line.split() for line in answer.stdout.splitlines()]
    return [Process(int(row[0]), int(row[1]), " ".join(row[3:]), row[2].startswith("Z")) for row in rows]


def read_variables(pid: int) -> dict[str, str]:
    """Return the environment with which a process was started; empty if it cannot be read, on macOS always."""
    pairs = (pair.partition(b"=") for pair in _read_environment(pid).split(b"\0"))
    return {os.fsdecode(name): value.decode(errors="replace") for name, mark, value in pairs if mark}


def _read_environment(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""  # the process belongs to another user or has ended


def _from_proc(pid: int) -> Process | None:
    # Plain calls: every command looks up about six processes, and a Path costs more than the read.
    try:
        descriptor = os.open(f"/proc/{pid}/stat", os.O_RDONLY)
    except OSError as error:
        if error.errno in (errno.EMFILE, errno.ENFILE):
            raise  # the process may exist: only the query failed
        return None
    try:
        text = os.read(descriptor, 4096)
    except OSError:
        return None  # the process ended in this moment
    finally:
        os.close(descriptor)
    # The name in brackets may contain brackets and spaces.
    end = text.rindex(b")")
    fields = text[end + 2 :].split(maxsplit=20)
    name = text[text.index(b"(") + 1 : end].decode(errors="replace")
    return Process(
        pid, int(fields[1]), boot_id.unique_start_time(fields[19].decode()), fields[0] in (b"Z", b"X"), name
    )


def _from_ps(pid: int) -> Process | None:
    answer = subprocess.run(
        ["ps", "-o", "ppid=,stat=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False, timeout=5
    )
    fields = answer.stdout.split()
    if answer.returncode != 0 or not fields:
        return None
    return Process(pid, int(fields[0]), " ".join(fields[2:]), fields[1].startswith("Z"))
