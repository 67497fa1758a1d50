"""A person at the terminal of a session: the screen and the keys."""

from __future__ import annotations

import contextlib
import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path

import pyte

COLUMNS, ROWS = 120, 40
_HISTORY = 1_000
# Sequences that ask the terminal a question or set the encoding of keys. pyte would take them for colours. The
# sequences of modes stay.
_ASIDE = re.compile(r"\x1b\[(?:[<>=][0-9;:?]*[ -/]*[@-~]|\?[0-9;:]*[ -/]*(?![hl])[@-~])")


def seen(output: str) -> str:
    """Return the text on the screen, after the lines that have scrolled out."""
    screen = pyte.HistoryScreen(COLUMNS, ROWS, history=_HISTORY)
    pyte.Stream(screen).feed(_ASIDE.sub("", output))
    past = ["".join(line[column].data for column in range(COLUMNS)).rstrip() for line in screen.history.top]
    return "\n".join([*past, *(line.rstrip() for line in screen.display)])


class Keyboard:
    """A keyboard that is attached to a runner. Keys go to the terminal of the program."""

    def __init__(self, door: socket.socket) -> None:
        self._door = door

    def press(self, keys: str) -> None:
        self._say(b"D", keys.encode())

    def attach(self) -> None:
        self._say(b"Q", json.dumps({"do": "attach"}).encode())
        self._say(b"Z", f"{COLUMNS} {ROWS}".encode())

    def _say(self, kind: bytes, payload: bytes) -> None:
        self._door.sendall(kind + len(payload).to_bytes(4, "big") + payload)


@contextlib.contextmanager
def at_keyboard(folder: Path) -> Iterator[Keyboard]:
    """Attach to the runner with this folder, and yield the keyboard."""
    link = Path("/tmp") / f"mst-{folder.name[-8:]}"  # the address of a Unix socket must be short
    link.unlink(missing_ok=True)
    link.symlink_to(folder)
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as door:
            door.connect(str(link / "control.sock"))
            keyboard = Keyboard(door)
            keyboard.attach()
            yield keyboard
    finally:
        link.unlink()
