"""What is to be seen of an agent: kept first, then shown to whoever looks on."""

from __future__ import annotations

from maestro.runner.control import Control
from maestro.runner.order import Order
from maestro.runner.screen import Screen
from maestro.runner.transcript import Transcript

_TAIL_BYTES = 4096


class Showing:
    """The one screen of a session: its transcript, its picture, its last words."""

    def __init__(self, order: Order, control: Control) -> None:
        self.transcript = Transcript(
            order.folder, columns=order.columns, rows=order.rows, bytes_max=order.transcript_bytes_max
        )
        self.is_anothers = False  # a program draws it that takes care of what is there
        self._control = control
        self._screen = Screen()
        self._tail = b""
        self._complaints = b""

    @property
    def tail(self) -> str:
        """What was shown last."""
        return self._tail.decode("utf-8", "replace")

    def picture(self) -> bytes:
        return self._screen.picture()

    def show(self, data: bytes) -> None:
        self._tail = (self._tail + data)[-_TAIL_BYTES:]
        self._screen.take(data)
        self.transcript.output(data)
        self._control.show(data)

    def tell(self, data: bytes) -> None:
        """Of a conversation: unless whoever draws the screen shows it."""
        if not self.is_anothers:
            self.show(data)

    def complain(self, data: bytes) -> None:
        """Of the agent's program: not into what another draws; then it is shown at the end."""
        data = data.replace(b"\n", b"\r\n")
        if self.is_anothers:
            self._complaints = (self._complaints + data)[-_TAIL_BYTES:]
        else:
            self.show(data)

    def close(self, label: str) -> None:
        """The last words, and how it ended."""
        if self._complaints:
            self.show(b"\r\n" + self._complaints)
        self.transcript.mark(label)
        self.transcript.close()
