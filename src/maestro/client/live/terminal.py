"""Lend the person's terminal to a view, and restore the terminal afterwards, also after a crash of the view."""

from __future__ import annotations

import os
import signal
import termios
import tty
from collections.abc import Callable
from types import FrameType
from typing import Any

from maestro.client import main
from maestro.wire import exit_codes

# Restores the modes that a program may have changed, in an order that keeps the text in place: keys, mouse, paste,
# the scroll region (after the cursor is saved, because a reset of the region moves it), characters, colours.
_RESET_MODES = (
    b"\x1b[<9u\x1b[>4m\x1b[?9l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1004l\x1b[?1005l\x1b[?1006l"
    b"\x1b[?1015l\x1b[?2004l\x1b[?2026l\x1b[?2031l\x1b[?1l\x1b>\x1b[?5l\x1b[?7h\x1b[4l\x1b7\x1b[r\x1b8"
    b"\x1b(B\x0f\x1b[0m\x1b[0 q\x1b[?25h"
)
LEAVE_ALTERNATE_SCREEN = b"\x1b[<9u\x1b[?1049l"  # moves the cursor: send it only to a terminal on its second screen

Ending = tuple[int, str]  # an exit code, and a last message for the person

_SAVE_TITLE, _RESTORE_TITLE = b"\x1b[22;0t", b"\x1b[23;0t"


def terminal_size() -> tuple[int, int]:
    """Return the terminal's columns and rows."""
    try:
        return tuple(os.get_terminal_size(1))  # type: ignore[return-value]
    except OSError:
        return 80, 24


def lend_terminal(work: Callable[[int], Ending], *, title: str) -> int:
    """Run `work` in a child process with the terminal in raw mode; return its exit code.

    Each of the two processes restores the terminal when the other process is gone, also after a kill. `work` gets a
    descriptor that reaches its end when the parent is gone.
    """
    before = termios.tcgetattr(0)
    watched, held = os.pipe()
    main.write_all(1, _SAVE_TITLE + b"\x1b]2;" + _printable_bytes(title) + b"\x07")
    child = os.fork()
    if child == 0:
        os.close(held)
        os._exit(_run_in_child(work, watched, before))
    os.close(watched)
    code = _wait_for_child(child)
    if code < 0:
        main.write_all(1, b"\x1b7" + LEAVE_ALTERNATE_SCREEN)
        _restore_terminal(before)
        raise main.CommandEnded(exit_codes.FAILED, f"signal {-code} ended the view; the session goes on")
    return code


def _run_in_child(work: Callable[[int], Ending], watched: int, before: list[Any]) -> int:
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)  # a process in the background must also restore the terminal
    ending = (exit_codes.FAILED, "")
    try:
        tty.setraw(0, termios.TCSANOW)
        ending = work(watched)
    except main.CommandEnded as ended:
        ending = (ended.code, ended.message)
    finally:
        _restore_terminal(before)
        if ending[1]:
            main.write_all(2, os.fsencode(f"{ending[1]}\n"))
    return ending[0]


def _wait_for_child(child: int) -> int:
    """Wait for the child; return its exit code, or its signal as a negative number. Pass signals on to the child."""

    def pass_on(number: int, frame: FrameType | None) -> None:
        os.kill(child, number)

    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP):
        signal.signal(number, signal.SIG_IGN)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, pass_on)
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def _restore_terminal(before: list[Any]) -> None:
    try:
        main.write_all(1, _RESET_MODES + _RESTORE_TITLE)
        termios.tcsetattr(0, termios.TCSANOW, before)
    except (OSError, termios.error, main.CommandEnded):
        pass  # the terminal is gone


def _printable_bytes(text: str) -> bytes:
    return "".join(char for char in text if char.isprintable()).encode()
