"""The terminal client: a second program that joins the conversation in the runner's terminal, for the person.

The conversation does not need this program. If the person ends the terminal client, the session ends. A terminal
client that fails is restarted.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from maestro.runner import program
from maestro.runner.stdin_writer import InputWriter
from maestro.tools import placeholders
from maestro.wire.runner_order import RunnerOrder

_FAILURES_MAX = 3  # failures in a row
_RESTART_SECONDS = 1.0
_LIVED_SECONDS = 30.0  # a failure after this time begins a new count
_CHUNK = 1 << 16


class TerminalClient:
    """The terminal client of one session. It starts when the conversation can be joined."""

    def __init__(
        self,
        order: RunnerOrder,
        selector: selectors.BaseSelector,
        *,
        show: Callable[[bytes], None],
        on_leave: Callable[[], None],
    ) -> None:
        self._order = order
        self._selector = selector
        self._show = show
        self._on_leave = on_leave  # called when the person has ended the terminal client
        self._program: program.RunningProgram | None = None
        self._input: InputWriter | None = None
        self._command: list[str] = []
        self._size = (order.columns, order.rows)
        self._failures = 0
        self._started_at = 0.0
        self.due: float | None = None  # the time of the next call of `start_or_restart`

    @property
    def is_running(self) -> bool:
        """Return whether the terminal client runs, and owns the terminal."""
        return self._program is not None

    @property
    def pending_bytes(self) -> int:
        """Return the number of typed bytes that the terminal client has not read yet."""
        return self._input.pending_bytes if self._input is not None else 0

    def join_conversation(self, conversation: str) -> None:
        if not self._command:
            self._command = placeholders.fill_placeholders(self._order.terminal_client, conversation=conversation)
            self.due = time.monotonic()

    def start_or_restart(self, ended: Mapping[int, int]) -> None:
        """Handle the end of the terminal client, and start the terminal client when that is due."""
        if self._program is not None and self._program.pid in ended:
            self._handle_end(os.waitstatus_to_exitcode(ended[self._program.pid]))
        elif self.due is not None and time.monotonic() >= self.due:
            self.due = None
            self._start_program()

    def write_input(self, data: bytes) -> None:
        """Pass on typed bytes."""
        if self._input is not None:
            self._input.write_input(data)

    def resize_terminal(self, columns: int, rows: int) -> None:
        self._size = (columns, rows)
        if self._program is not None:
            self._program.resize_terminal(columns, rows)

    def would_lose(self, data: bytes) -> bool:
        return self._program is not None and self._program.would_lose(data)

    def close(self) -> None:
        """Stop showing and restarting the terminal client; its process ends with all other processes."""
        self.due = None
        if self._program is None:
            return
        with contextlib.suppress(KeyError):
            self._selector.unregister(self._program.output)
        assert self._input is not None
        self._input.close()
        self._program.input = -1  # the input writer has closed the descriptor
        self._program.close_descriptors()
        self._program = self._input = None

    def _start_program(self) -> None:
        columns, rows = self._size
        order = replace(
            self._order, arguments=self._command, terminal=True, columns=columns, rows=rows, conversation=None
        )
        try:
            self._program = program.start_program(order, lambda pid: None)
        except program.ProgramNotStarted as problem:
            self._show(f"! the terminal client cannot start: {problem}\r\n".encode())
            return
        self._started_at = time.monotonic()
        self._input = InputWriter(self._program.input, self._selector)
        self._selector.register(self._program.output, selectors.EVENT_READ, self._show_output)

    def _show_output(self, handle: Any = None, events: int = 0) -> None:
        assert self._program is not None
        if data := _read_available(self._program.output):
            self._show(data)
        elif data is not None:
            self._selector.unregister(self._program.output)  # `start_or_restart` handles the end

    def _handle_end(self, code: int) -> None:
        assert self._program is not None
        while data := _read_available(self._program.output):
            self._show(data)
        self.close()
        if code == 0:
            self._on_leave()
            return
        self._failures = 1 if time.monotonic() - self._started_at > _LIVED_SECONDS else self._failures + 1
        if self._failures < _FAILURES_MAX:
            self.due = time.monotonic() + _RESTART_SECONDS
        else:
            self._show(f"\r\n! the terminal client ended with {code}; the session goes on without it\r\n".encode())


def _read_available(descriptor: int) -> bytes | None:
    """Return the available bytes; empty at the end, None if no bytes are available yet."""
    try:
        return os.read(descriptor, _CHUNK)
    except BlockingIOError:
        return None
    except OSError:  # a terminal without processes reports EIO
        return b""
