"""The visible output of a session: first written to the transcript, then shown to the attached terminals."""

from __future__ import annotations

from maestro.runner.control import ControlSocket
from maestro.runner.screen import Screen
from maestro.runner.transcript import TranscriptWriter
from maestro.text import redaction
from maestro.wire.runner_order import RunnerOrder

_TAIL_BYTES = 4096
_HIDDEN_BYTES = 1024
_BELOW = b"\x1b[0m\x1b[r\x1b[999;1H\r\n"  # moves the cursor below every drawing


class SessionOutput:
    """The output of a session: its transcript, its screen and its last bytes."""

    def __init__(self, order: RunnerOrder, control: ControlSocket) -> None:
        self.transcript = TranscriptWriter(
            order.folder, columns=order.columns, rows=order.rows, bytes_max=order.transcript_bytes_max
        )
        self.is_drawn_by_client = False  # whether the terminal client draws the screen
        self._control = control
        self._screen = Screen()
        self._tail = b""
        self._hidden = b""  # the last output that was not shown, because the terminal client draws the screen

    @property
    def tail(self) -> str:
        """Return the last output as text, without secrets."""
        text, is_cut = self._tail.decode("utf-8", "replace"), len(self._tail) == _TAIL_BYTES
        return redaction.hide_in_end(text) if is_cut else redaction.hide_in_terminal(text)

    def draw_picture(self) -> bytes:
        return self._screen.draw_picture()

    def show_bytes(self, data: bytes) -> None:
        self._tail = (self._tail + data)[-_TAIL_BYTES:]
        self._screen.add_output(data)
        self.transcript.add_output(data)
        self._control.send_output(data)

    def show_unless_drawn(self, data: bytes) -> None:
        """Show text of the conversation or of the program, unless the terminal client draws the screen.

        The end of the hidden text is shown when the session ends: the terminal client may not have shown it.
        """
        if self.is_drawn_by_client:
            self._hidden = (self._hidden + data)[-_HIDDEN_BYTES:]
        else:
            self.show_bytes(data)

    def close(self, label: str) -> None:
        """Show the hidden text, and mark the end in the transcript."""
        if self._hidden:
            self.show_bytes(_BELOW + self._hidden)
        self.transcript.add_marker(label)
        self.transcript.close()
