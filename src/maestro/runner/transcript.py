"""What an agent's terminal showed, as an asciicast (version 2): bounded, and readable while it is written.

When the file is full it becomes the older half and a new one begins, so the end is always there.
"""

from __future__ import annotations

import codecs
import contextlib
import json
import os
import time

from maestro.text import redaction

FILE = "transcript.cast"
OLDER = "transcript-older.cast"


class Transcript:
    """Appends events to a file that never grows beyond its limit."""

    def __init__(self, folder: str, *, columns: int, rows: int, bytes_max: int) -> None:
        self._folder = folder
        self._size = (columns, rows)
        self._bytes_max = bytes_max // 2  # two halves
        self._began = time.time()
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._hidden = redaction.TerminalStream()
        self._written = 0
        self._file = -1
        self._open()

    def output(self, data: bytes) -> None:
        """What came from the terminal."""
        text = self._hidden.take(self._decode(data))
        if text:
            self._event("o", text)

    def input(self, data: bytes) -> None:
        """What someone typed or was sent."""
        self._event("i", redaction.hide_in_terminal(data.decode("utf-8", "replace")))

    def resized(self, columns: int, rows: int) -> None:
        self._size = (columns, rows)
        self._event("r", f"{columns}x{rows}")

    def mark(self, label: str) -> None:
        """Something that happened, for whoever replays it."""
        self._event("m", label)

    def close(self) -> None:
        rest = self._hidden.take(self._decode(b"", True)) + self._hidden.rest()
        if rest:
            self._event("o", rest)
        self._close()

    def _event(self, kind: str, text: str) -> None:
        line = json.dumps([round(time.time() - self._began, 6), kind, text], ensure_ascii=False) + "\n"
        data = line.encode("utf-8", "replace")
        if self._written + len(data) > self._bytes_max:
            self._turn()
        self._append(data)

    def _append(self, data: bytes) -> None:
        """Write a whole line or none. A full disk must not stop the agent."""
        if self._file < 0:
            self._open()
        with contextlib.suppress(OSError):
            if os.write(self._file, data) == len(data):
                self._written += len(data)
            else:
                os.ftruncate(self._file, self._written)

    def _turn(self) -> None:
        self._close()
        with contextlib.suppress(OSError):
            os.replace(self._path(FILE), self._path(OLDER))
        self._open()

    def _open(self) -> None:
        """Begin a file. On a full disk there is none: the next event tries again."""
        self._written = 0
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC
        with contextlib.suppress(OSError):
            self._file = os.open(self._path(FILE), flags, 0o600)
            columns, rows = self._size
            head = {"version": 2, "width": columns, "height": rows, "timestamp": int(self._began)}
            data = json.dumps(head).encode() + b"\n"
            self._written = os.write(self._file, data)
            if self._written < len(data):
                self._close()
        if self._file >= 0 and not self._written:
            self._close()

    def _close(self) -> None:
        if self._file >= 0:
            with contextlib.suppress(OSError):
                os.close(self._file)
            self._file = -1

    def _path(self, name: str) -> str:
        return os.path.join(self._folder, name)
