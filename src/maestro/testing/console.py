"""A command on its own terminal, as a person uses it: its output, typed input, and the modes of the terminal."""

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
from maestro.text.terminal_text import strip_sequences


class Console:
    """A program on a terminal. The creator must close the console."""

    def __init__(
        self, arguments: Sequence[str], *, cwd: Path, env: Mapping[str, str], columns: int = 80, rows: int = 24
    ) -> None:
        self._controller_fd, terminal_fd = pty.openpty()
        # Kept open, so that a test can read the terminal's modes after the program has ended.
        self._terminal_fd = terminal_fd
        self.resize(columns, rows)
        self.before = self.modes()
        self.shown = b""
        self.process = subprocess.Popen(
            list(arguments),
            cwd=cwd,
            env={**env, "TERM": "xterm-256color"},
            stdin=terminal_fd,
            stdout=terminal_fd,
            stderr=terminal_fd,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0) and None,
        )

    def type_keys(self, data: bytes) -> None:
        os.write(self._controller_fd, data)

    def resize(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self._controller_fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def modes(self) -> list[Any]:
        return termios.tcgetattr(self._terminal_fd)

    @property
    def is_raw(self) -> bool:
        return not self.modes()[3] & termios.ICANON

    def wait_for_output(self, text: bytes) -> bytes:
        """Return the output since the last call, up to and including `text`."""
        deadline = time.monotonic() + SECONDS_MAX
        while text not in self.shown:
            assert time.monotonic() < deadline, f"{text!r} was not shown, but: {self.shown[-1000:]!r}"
            self._read_output(0.1)
        before, _, self.shown = self.shown.partition(text)
        return before + text

    def wait_for_screen_text(self, text: str) -> None:
        """Wait until a text is or was on the screen, ignoring space: programs do not redraw unchanged text."""
        deadline = time.monotonic() + SECONDS_MAX
        while _without_space(text) not in (
            drawn := _without_space(strip_sequences(self.shown.decode(errors="replace")))
        ):
            assert time.monotonic() < deadline, f"{text!r} was not drawn, but: {drawn[-2000:]}"
            self._read_output(0.1)

    def read_output_for(self, seconds: float) -> None:
        """Read the output for `seconds`."""
        deadline = time.monotonic() + seconds
        while (remaining := deadline - time.monotonic()) > 0:
            self._read_output(remaining)

    def wait_for_exit(self) -> int:
        """Wait for the program's end and return its exit code. The last output is in `shown`."""
        deadline = time.monotonic() + SECONDS_MAX
        while self.process.poll() is None:
            assert time.monotonic() < deadline, f"the program did not end: {self.shown[-1000:]!r}"
            self._read_output(0.05)
        while self._read_output(0):
            pass
        return self.process.returncode

    def _read_output(self, seconds: float) -> bool:
        if not select.select([self._controller_fd], [], [], seconds)[0]:
            return False
        data = os.read(self._controller_fd, 65536)
        self.shown += data
        return bool(data)

    def close(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(SECONDS_MAX)
        os.close(self._controller_fd)
        os.close(self._terminal_fd)


def _without_space(text: str) -> str:
    return "".join(text.split())
