"""Send the head and the body of an HTTP answer in one write.

uvicorn writes the head and the body separately. Each write is a system call, and the first write already wakes the
client, which has to wait for the second write.
"""

from __future__ import annotations

import asyncio
from typing import Any

_HEAD = b"HTTP/1."


class JoinedWrites(asyncio.Transport):
    """A transport that holds the head of an answer back until the next write, or to the end of the loop's turn.

    Only heads are held back: the body of an answer must be out when uvicorn counts the answer as complete.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._loop = loop
        self._transport = transport
        self._head: Any = b""
        # These calls pass unchanged.
        self.get_extra_info = transport.get_extra_info  # type: ignore[method-assign]
        self.is_closing = transport.is_closing  # type: ignore[method-assign]
        self.pause_reading = transport.pause_reading  # type: ignore[method-assign]
        self.resume_reading = transport.resume_reading  # type: ignore[method-assign]
        self.abort = transport.abort  # type: ignore[method-assign]

    def write(self, data: Any) -> None:
        """Send `data` after a held head; hold `data` back if it is a head."""
        if self._head:
            data, self._head = self._head + data, b""
        elif data.startswith(_HEAD):
            self._head = data
            self._loop.call_soon(self._send_head)  # an answer whose body comes later
            return
        self._transport.write(data)

    def close(self) -> None:
        """Send a held head, then close."""
        self._send_head()
        self._transport.close()

    def _send_head(self) -> None:
        head, self._head = self._head, b""
        if head and not self._transport.is_closing():
            self._transport.write(head)
