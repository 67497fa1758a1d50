"""Find the terminal of a process, in the words in which a person finds the window: tmux pane, program, tty."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from maestro.system import processes

_PTS_MAJORS = range(136, 144)  # the device numbers of Linux for pseudo terminals
_CONSOLE_MAJOR = 4
_TERMINAL_CHARS_MAX = 60


def describe_terminal(pid: int) -> str:
    """Return the terminal of a process, for example `tmux %5, pts/3`; empty if the process has no terminal."""
    try:
        tty = _tty_from_proc(pid) if sys.platform == "linux" else _tty_from_ps(pid)
    except (OSError, ValueError, subprocess.SubprocessError):
        return ""
    if not tty:
        return ""
    names = [name for name in (_window_name(processes.read_variables(pid)), tty) if name]
    return ", ".join(names)[:_TERMINAL_CHARS_MAX]


def _tty_from_proc(pid: int) -> str:
    """Return the controlling terminal from the device number in the process table."""
    number = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[4])
    major, minor = (number >> 8) & 0xFFF, (number & 0xFF) | ((number >> 12) & 0xFFF00)
    if major in _PTS_MAJORS:
        return f"pts/{minor + (major - _PTS_MAJORS.start) * 256}"
    return f"tty{minor}" if major == _CONSOLE_MAJOR else ""


def _tty_from_ps(pid: int) -> str:
    command = ["ps", "-o", "tty=", "-p", str(pid)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False, timeout=5)
    return answer.stdout.strip().strip("?")


def _window_name(variables: dict[str, str]) -> str:
    """Return the pane or the terminal program from the variables that terminal programs set. A pane comes first."""
    if pane := variables.get("TMUX_PANE"):
        return f"tmux {_plain(pane)}"
    if pane := variables.get("ZELLIJ_PANE_ID"):
        return f"zellij {_plain(pane)}"
    if name := variables.get("STY"):
        return f"screen {_plain(name)} {_plain(variables.get('WINDOW', ''))}".strip()
    return _plain(variables.get("TERM_PROGRAM", ""))


def _plain(text: str) -> str:
    """Return a foreign value as short printable text."""
    return "".join(char for char in text[:_TERMINAL_CHARS_MAX] if char.isprintable())
