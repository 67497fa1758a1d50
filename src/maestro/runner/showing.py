"""The visible output of a session: first written to the transcript, then shown to the attached terminals."""

from __future__ import annotations

from maestro.runner.control import Control
from maestro.runner.order import Order
from maestro.runner.screen import Screen
from maestro.runner.transcript import Transcript
from maestro.text import redaction

_TAIL_BYTES = 4096
_HIDDEN_BYTES = 1024
_BELOW = b"\x1b[0m\x1b[r\x1b[999;1H\r\n"  # moves the cursor below every drawing


class Showing:
    """The output of a session: its transcript, its screen and its last bytes."""

    def __init__(self, order: Order, control: Control) -> None:
        self.transcript = Transcript(
            order.folder, columns=order.columns, rows=order.rows, bytes_max=order.transcript_bytes_max
        )
        self.is_anothers = False  # whether the terminal client draws the screen
        self._control = control
        self._screen = Screen()
        self._tail = b""
        self._hidden = b""  # the last output that was not shown, because the terminal client draws the screen

    @property
    def tail(self) -> str:
        """Return the last output as text, without secrets."""
        text, is_cut = self._tail.decode("utf-8", "replace"), len(self._tail) == _TAIL_BYTES
        return redaction.hide_in_end(text) if is_cut else redaction.hide_in_terminal(text)

    def picture(self) -> bytes:
        return self._screen.picture()

    def show(self, data: bytes) -> None:
        self._tail = (self._tail + data)[-_TAIL_BYTES:]
        self._screen.take(data)
        self.transcript.output(data)
        self._control.show(data)

    def tell(self, data: bytes) -> None:
        """Show text of the conversation or of the program, unless the terminal client draws the screen.

        The end of the hidden text is shown when the session ends: the terminal client may not have shown it.
        """
        if self.is_anothers:
            self._hidden = (self._hidden + data)[-_HIDDEN_BYTES:]
        else:
            self.show(data)

    def close(self, label: str) -> None:
        """Show the hidden text, and mark the end in the transcript."""
        if self._hidden:
            self.show(_BELOW + self._hidden)
        self.transcript.mark(label)
        self.transcript.close()
