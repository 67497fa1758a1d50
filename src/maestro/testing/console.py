"""A command on a terminal of its own, as a person has one: what it shows, what is typed, how the terminal is left."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from maestro.testing.supervised import SECONDS_MAX
from maestro.text.terminal_text import plain


class Console:
    """One program on one terminal. Whoever makes it closes it."""

    def __init__(
        self, words: Sequence[str], *, cwd: Path, env: Mapping[str, str], columns: int = 80, rows: int = 24
    ) -> None:
        self._ours, theirs = pty.openpty()
        self._theirs = theirs  # kept, so that the terminal can be looked at after the program has ended
        self.resize(columns, rows)
        self.before = self.modes()
        self.shown = b""
        self.process = subprocess.Popen(
            list(words),
            cwd=cwd,
            env={**env, "TERM": "xterm-256color"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0) and None,
        )

    def type(self, data: bytes) -> None:
        os.write(self._ours, data)

    def resize(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def modes(self) -> list[Any]:
        return termios.tcgetattr(self._theirs)

    @property
    def is_raw(self) -> bool:
        return not self.modes()[3] & termios.ICANON

    def until(self, text: bytes) -> bytes:
        """Everything shown since the last such call, up to and with a text."""
        ends = time.monotonic() + SECONDS_MAX
        while text not in self.shown:
            assert time.monotonic() < ends, f"{text!r} was not shown, but: {self.shown[-1000:]!r}"
            self._look(0.1)
        before, _, self.shown = self.shown.partition(text)
        return before + text

    def until_drawn(self, text: str) -> None:
        """Once a text is or was on the screen, however it got there: what stands already is not drawn again."""
        ends = time.monotonic() + SECONDS_MAX
        while _squeezed(text) not in (found := _squeezed(plain(self.shown.decode(errors="replace")))):
            assert time.monotonic() < ends, f"{text!r} was not drawn, but: {found[-2000:]}"
            self._look(0.1)

    def look_for(self, seconds: float) -> None:
        """Take in what is shown, for a while."""
        ends = time.monotonic() + seconds
        while (left := ends - time.monotonic()) > 0:
            self._look(left)

    def wait(self) -> int:
        """The program's exit code; what it showed last is in `shown`."""
        ends = time.monotonic() + SECONDS_MAX
        while self.process.poll() is None:
            assert time.monotonic() < ends, f"it did not end: {self.shown[-1000:]!r}"
            self._look(0.05)
        while self._look(0):
            pass
        return self.process.returncode

    def _look(self, seconds: float) -> bool:
        if not select.select([self._ours], [], [], seconds)[0]:
            return False
        data = os.read(self._ours, 65536)
        self.shown += data
        return bool(data)

    def close(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(SECONDS_MAX)
        os.close(self._ours)
        os.close(self._theirs)


def _squeezed(text: str) -> str:
    return "".join(text.split())
