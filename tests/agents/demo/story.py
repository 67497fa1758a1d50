"""The output of the demo: a line for each event, with agent and time, from several threads."""

from __future__ import annotations

import os
import sys
import textwrap
import threading
import time

_COLOURS = {"lead": "35;1", "cody": "36", "gemma": "33", "you": "1"}
_WIDTH = 118
_NAME = 5


class Story:
    """Prints the lines of the demo."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._lock = threading.Lock()
        self._is_coloured = sys.stdout.isatty() and "NO_COLOR" not in os.environ

    def say(self, who: str, text: str) -> None:
        """Print an event. A long text continues on indented lines."""
        head = f"  {time.monotonic() - self._began:5.1f} s  "
        indent = " " * (len(head) + _NAME + 3)
        lines = textwrap.wrap(text, _WIDTH - len(indent) + 2, subsequent_indent=indent, break_on_hyphens=False)
        self._write(head + self._painted(f"{who:<{_NAME}}", _COLOURS.get(who, "2")) + " " + "\n".join(lines or [""]))

    def head(self, text: str) -> None:
        """Print a text of the demo itself."""
        self._write("\n" + "\n".join(textwrap.wrap(text, _WIDTH)) + "\n")

    def command(self, typed: str, printed: str) -> None:
        """Print a command and its output."""
        self._write(f"\n    $ {typed}")
        self.print(printed)

    def print(self, text: str) -> None:
        """Print the output of a command."""
        self._write("".join(f"      {line}".rstrip() + "\n" for line in text.splitlines()).rstrip("\n"))

    def title(self, text: str) -> None:
        self._write(f"\n  {self._painted(text, '1')}")

    def seconds(self) -> float:
        return time.monotonic() - self._began

    def _painted(self, text: str, colour: str) -> str:
        return f"\x1b[{colour}m{text}\x1b[0m" if self._is_coloured else text

    def _write(self, text: str) -> None:
        with self._lock:
            print(text, flush=True)
