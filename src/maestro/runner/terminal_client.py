"""The terminal client: a second program that joins the conversation in the runner's terminal, for the person.

The conversation does not need this program. If the person ends the terminal client, the session ends. A terminal
client that fails is restarted, until it fails three times in a row. A client that cannot start is not restarted.
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
from maestro.runner.input_writer import InputWriter
from maestro.runner.reading import read_available
from maestro.tools import placeholders
from maestro.wire.runner_order import RunnerOrder

_FAILURES_MAX = 3  # failures in a row
_RESTART_SECONDS = 1.0
_FAILURES_FORGOTTEN_SECONDS = 30.0  # a failure after this time begins a new count


class TerminalClient:
    """The terminal client of one session. It starts when the conversation can be joined."""

    def __init__(
        self,
        order: RunnerOrder,
        selector: selectors.BaseSelector,
        *,
        show: Callable[[bytes], None],
        on_ended_by_person: Callable[[], None],
    ) -> None:
        self._order = order
        self._selector = selector
        self._show = show
        self._on_ended_by_person = on_ended_by_person
        self._program: program.RunningProgram | None = None
        self._input: InputWriter | None = None
        self._command: list[str] = []
        self._size = (order.columns, order.rows)
        self._failures = 0
        self._started_at = 0.0
        self.due: float | None = None  # the time of the next start; None: no start is planned

    @property
    def is_running(self) -> bool:
        """Return whether the terminal client runs, and owns the terminal."""
        return self._program is not None

    @property
    def pending_bytes(self) -> int:
        """Return the number of input bytes that are not written to the terminal client yet."""
        return self._input.pending_bytes if self._input is not None else 0

    def plan_start(self, conversation_id: str) -> None:
        """Plan the first start of the terminal client, which joins the conversation. A repeated call does nothing."""
        if not self._command:
            self._command = placeholders.fill_placeholders(self._order.terminal_client, conversation=conversation_id)
            self.due = time.monotonic()

    def handle_end_or_start(self, exit_statuses: Mapping[int, int]) -> None:
        """Handle the end of the terminal client, and start the terminal client when the start is due.

        `exit_statuses` has the exit status of each process that has ended, by pid.
        """
        if self._program is not None and self._program.pid in exit_statuses:
            self._handle_end(os.waitstatus_to_exitcode(exit_statuses[self._program.pid]))
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

    def would_cut_line(self, data: bytes) -> bool:
        return self._program is not None and self._program.would_cut_line(data)

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

    def _show_output(self, handle: Any, events: int) -> None:
        assert self._program is not None
        if data := read_available(self._program.output):
            self._show(data)
        elif data is not None:
            self._selector.unregister(self._program.output)  # `handle_end_or_start` handles the end

    def _handle_end(self, code: int) -> None:
        assert self._program is not None
        while data := read_available(self._program.output):
            self._show(data)
        self.close()
        if code == 0:
            self._on_ended_by_person()
            return
        lived_seconds = time.monotonic() - self._started_at
        self._failures = 1 if lived_seconds > _FAILURES_FORGOTTEN_SECONDS else self._failures + 1
        if self._failures < _FAILURES_MAX:
            self.due = time.monotonic() + _RESTART_SECONDS
        else:
            problem = f"the terminal client ended with {code}; the session continues without a terminal client"
            self._show(f"\r\n! {problem}\r\n".encode())
