"""What the operating system says about processes: their parents and when each started.

A pid alone is not an identity, for it is given again; pid, start time and start of the machine are.
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


class Process(msgspec.Struct, frozen=True):
    """One process, as it is now."""

    pid: int
    parent: int
    started: str
    ended: bool = False  # it only waits for its parent to take note
    name: str = ""  # the process's own name, where the system tells it with the rest


class ChainBroken(Exception):
    """The chain of parents could not be read to its end."""


def look_up(pid: int) -> Process | None:
    """The process with this pid, if it is there and can be seen; OSError if there is no way to look."""
    return _from_proc(pid) if sys.platform == "linux" else _from_ps(pid)


def name_of(pid: int) -> str:
    """The program that a process runs; '' if that cannot be seen."""
    try:
        return _name_from_proc(pid) if sys.platform == "linux" else _name_from_ps(pid)
    except OSError:
        return ""


def _name_from_proc(pid: int) -> str:
    return Path(f"/proc/{pid}/comm").read_text().strip()


def _name_from_ps(pid: int) -> str:
    asked = ["ps", "-o", "comm=", "-p", str(pid)]
    answer = subprocess.run(asked, capture_output=True, text=True, check=False, timeout=5)
    return Path(answer.stdout.strip()).name.lstrip("-")


def leads_a_session(pid: int) -> bool:
    """Whether a terminal or a login began with this process."""
    try:
        return os.getsid(pid) == pid
    except OSError:
        return False


def has_terminal(pid: int) -> bool:
    """Whether a process belongs to a terminal at which someone may sit."""
    try:
        return _terminal_from_proc(pid) if sys.platform == "linux" else _terminal_from_ps(pid)
    except (OSError, ValueError):
        return False


def _terminal_from_proc(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[4] != "0"


def _terminal_from_ps(pid: int) -> bool:
    asked = ["ps", "-o", "tty=", "-p", str(pid)]
    answer = subprocess.run(asked, capture_output=True, text=True, check=False, timeout=5)
    return answer.stdout.strip() not in ("", "?", "??")


def ancestry(pid: int) -> list[Process]:
    """A process and all its parents up to the first of the system."""
    chain: list[Process] = []
    while pid > 0:
        try:
            found = look_up(pid)
        except OSError as error:
            raise ChainBroken(f"process {pid} cannot be read") from error
        if found is None or len(chain) >= limits.ancestry_depth_max:
            raise ChainBroken(f"process {pid} cannot be read")
        chain.append(found)
        pid = found.parent
    return chain


def below(pid: int) -> list[Process]:
    """Everything that descends from a process, as it is now."""
    children: dict[int, list[Process]] = {}
    for process in _everyone():
        children.setdefault(process.parent, []).append(process)
    found: list[Process] = []
    waiting = [pid]
    while waiting:
        for process in children.pop(waiting.pop(), ()):
            found.append(process)
            waiting.append(process.pid)
    return found


def with_variable(name: str, value: str) -> list[Process]:
    """Processes that were started with a variable in their environment, as far as the system lets one look.

    It is handed on from each to whatever it starts, also to who leaves its group, its session and its parent.
    """
    wanted = os.fsencode(f"{name}={value}")
    return [one for one in _everyone() if not one.ended and wanted in _environment(one.pid).split(b"\0")]


def _everyone() -> list[Process]:
    return _everyone_in_proc() if sys.platform == "linux" else _everyone_of_ps()


def _everyone_in_proc() -> list[Process]:
    with os.scandir("/proc") as entries:
        pids = [int(entry.name) for entry in entries if entry.name.isdigit()]
    return [found for pid in pids if (found := _from_proc(pid))]


def _everyone_of_ps() -> list[Process]:
    answer = subprocess.run(
        ["ps", "-axo", "pid=,ppid=,stat=,lstart="], capture_output=True, text=True, check=False, timeout=5
    )
    rows = [line.split() for line in answer.stdout.splitlines()]
    return [Process(int(row[0]), int(row[1]), " ".join(row[3:]), row[2].startswith("Z")) for row in rows]


def _environment(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""  # another's, or gone, or a system without it


def _from_proc(pid: int) -> Process | None:
    # Plain calls: with every command some six processes are looked up, and a Path costs more than the reading.
    try:
        descriptor = os.open(f"/proc/{pid}/stat", os.O_RDONLY)
    except OSError as error:
        if error.errno in (errno.EMFILE, errno.ENFILE):
            raise  # that nobody can look does not mean that it is not there
        return None
    try:
        text = os.read(descriptor, 4096)
    except OSError:
        return None  # it ended in this moment
    finally:
        os.close(descriptor)
    # The name in brackets may itself contain brackets and spaces.
    end = text.rindex(b")")
    fields = text[end + 2 :].split(maxsplit=20)
    name = text[text.index(b"(") + 1 : end].decode(errors="replace")
    return Process(pid, int(fields[1]), boot_id.since(fields[19].decode()), fields[0] in (b"Z", b"X"), name)


def _from_ps(pid: int) -> Process | None:
    answer = subprocess.run(
        ["ps", "-o", "ppid=,stat=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False, timeout=5
    )
    fields = answer.stdout.split()
    if answer.returncode != 0 or not fields:
        return None
    return Process(pid, int(fields[0]), " ".join(fields[2:]), fields[1].startswith("Z"))
