"""What is to be seen of an agent: kept first, then shown to whoever looks on."""

from __future__ import annotations

from maestro.runner.control import Control
from maestro.runner.order import Order
from maestro.runner.screen import Screen
from maestro.runner.transcript import Transcript
from maestro.text import redaction

_TAIL_BYTES = 4096
_ASIDE_BYTES = 1024
_BELOW = b"\x1b[0m\x1b[r\x1b[999;1H\r\n"  # whatever was drawn


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
        self._aside = b""  # what was not shown because another draws

    @property
    def tail(self) -> str:
        """What was shown last."""
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
        """Of a conversation, or of the agent's program: not into what another draws. The last of it is shown at the
        end, when the other may not have come to it."""
        if self.is_anothers:
            self._aside = (self._aside + data)[-_ASIDE_BYTES:]
        else:
            self.show(data)

    def close(self, label: str) -> None:
        """The last words, and how it ended."""
        if self._aside:
            self.show(_BELOW + self._aside)
        self.transcript.mark(label)
        self.transcript.close()
