"""The transcript of a session's terminal, as an asciicast (version 2) of limited size, readable while it is written.

A full file becomes the older half, and a new file begins: the transcript always holds the end of the output.
"""

from __future__ import annotations

import codecs
import contextlib
import json
import os
import time

from maestro.text import redaction
from maestro.wire import runner_folder


class TranscriptWriter:
    """A transcript that never grows beyond its limit."""

    def __init__(self, folder: str, *, columns: int, rows: int, bytes_max: int) -> None:
        self._folder = folder
        self._size = (columns, rows)
        self._bytes_max = bytes_max // 2  # for each of the two files
        self._started_at = time.time()
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._redacted = redaction.TokenFilter()
        self._written = 0
        self._file = -1
        self._open_file()

    def add_output(self, data: bytes) -> None:
        """Add output of the terminal."""
        text = self._redacted.filter_piece(self._decode(data))
        if text:
            self._add_event("o", text)

    def add_input(self, data: bytes) -> None:
        """Add input that a person typed or that was sent to the program."""
        self._add_event("i", redaction.hide_in_terminal(data.decode("utf-8", "replace")))

    def add_resize(self, columns: int, rows: int) -> None:
        self._size = (columns, rows)
        self._add_event("r", f"{columns}x{rows}")

    def add_marker(self, label: str) -> None:
        """Add a marker, which a player of the transcript shows."""
        self._add_event("m", label)

    def close(self) -> None:
        rest = self._redacted.filter_piece(self._decode(b"", True)) + self._redacted.release_held()
        if rest:
            self._add_event("o", rest)
        self._close_file()

    def _add_event(self, kind: str, text: str) -> None:
        line = json.dumps([round(time.time() - self._started_at, 6), kind, text], ensure_ascii=False) + "\n"
        data = line.encode("utf-8", "replace")
        if self._written + len(data) > self._bytes_max:
            self._begin_next_file()
        self._append(data)

    def _append(self, data: bytes) -> None:
        """Write a whole line or none. A full disk must not stop the program."""
        if self._file < 0:
            self._open_file()
        with contextlib.suppress(OSError):
            if os.write(self._file, data) == len(data):
                self._written += len(data)
            else:
                os.ftruncate(self._file, self._written)

    def _begin_next_file(self) -> None:
        self._close_file()
        with contextlib.suppress(OSError):
            os.replace(self._file_path(runner_folder.TRANSCRIPT), self._file_path(runner_folder.OLDER_TRANSCRIPT))
        self._open_file()

    def _open_file(self) -> None:
        """Begin a file. On a full disk no file begins, and the next event tries again."""
        self._written = 0
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC
        with contextlib.suppress(OSError):
            self._file = os.open(self._file_path(runner_folder.TRANSCRIPT), flags, 0o600)
            columns, rows = self._size
            head = {"version": 2, "width": columns, "height": rows, "timestamp": int(self._started_at)}
            data = json.dumps(head).encode() + b"\n"
            self._written = os.write(self._file, data)
            if self._written < len(data):
                self._close_file()
        if self._file >= 0 and not self._written:
            self._close_file()

    def _close_file(self) -> None:
        if self._file >= 0:
            with contextlib.suppress(OSError):
                os.close(self._file)
            self._file = -1

    def _file_path(self, name: str) -> str:
        return os.path.join(self._folder, name)
