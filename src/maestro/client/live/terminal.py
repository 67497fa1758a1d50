"""The person's own terminal: handed to an agent for a while, and given back as it was, whatever happens meanwhile."""

from __future__ import annotations

import os
import signal
import termios
import tty
from collections.abc import Callable
from types import FrameType
from typing import Any

from maestro.client import thin

# What a program may have changed and not put back, in an order that leaves the text where it is: keys, mouse, paste,
# the part that scrolls (after a mark of the cursor, which it would move), characters, colours.
_AS_USUAL = (
    b"\x1b[<9u\x1b[>4m\x1b[?9l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1004l\x1b[?1005l\x1b[?1006l"
    b"\x1b[?1015l\x1b[?2004l\x1b[?2026l\x1b[?2031l\x1b[?1l\x1b>\x1b[?5l\x1b[?7h\x1b[4l\x1b7\x1b[r\x1b8"
    b"\x1b(B\x0f\x1b[0m\x1b[0 q\x1b[?25h"
)
LEAVE_OTHER_SCREEN = b"\x1b[<9u\x1b[?1049l"  # moves the cursor, so only for whoever is there

Ending = tuple[int, str]  # an exit code, and a last word for the person

_KEEP_TITLE, _GIVE_TITLE_BACK = b"\x1b[22;0t", b"\x1b[23;0t"


def size() -> tuple[int, int]:
    """Columns and rows."""
    try:
        return tuple(os.get_terminal_size(1))  # type: ignore[return-value]
    except OSError:
        return 80, 24


def lend(work: Callable[[int], Ending], *, title: str) -> int:
    """Lets `work` have the terminal, raw, in a process of its own; gives its exit code.

    Each of the two processes puts the terminal back when the other one is gone, also killed: `work` gets a descriptor
    that ends when nobody waits for it any more.
    """
    before = termios.tcgetattr(0)
    watched, held = os.pipe()
    thin.put(1, _KEEP_TITLE + b"\x1b]2;" + _printable(title) + b"\x07")
    child = os.fork()
    if child == 0:
        os.close(held)
        os._exit(_worked(work, watched, before))
    os.close(watched)
    code = _waited(child)
    if code < 0:
        thin.put(1, b"\x1b7" + LEAVE_OTHER_SCREEN)
        _give_back(before)
        raise thin.Ended(thin.FAILED, f"the view was ended by signal {-code}; the agent goes on")
    return code


def _worked(work: Callable[[int], Ending], watched: int, before: list[Any]) -> int:
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)  # to give it back also from the background
    ending = (thin.FAILED, "")
    try:
        tty.setraw(0, termios.TCSANOW)
        ending = work(watched)
    except thin.Ended as ended:
        ending = (ended.code, ended.message)
    finally:
        _give_back(before)
        if ending[1]:
            thin.put(2, os.fsencode(f"{ending[1]}\n"))
    return ending[0]


def _waited(child: int) -> int:
    """The child's exit code; negative, a signal. What is sent to us is for the child to act upon."""

    def pass_on(number: int, frame: FrameType | None) -> None:
        os.kill(child, number)

    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP):
        signal.signal(number, signal.SIG_IGN)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, pass_on)
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def _give_back(before: list[Any]) -> None:
    try:
        thin.put(1, _AS_USUAL + _GIVE_TITLE_BACK)
        termios.tcsetattr(0, termios.TCSANOW, before)
    except (OSError, termios.error, thin.Ended):
        pass  # there is no terminal any more


def _printable(text: str) -> bytes:
    return "".join(char for char in text if char.isprintable()).encode()
