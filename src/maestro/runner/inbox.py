"""Puts messages to an agent in a terminal, beside its keyboard: into a socket that its program listens to.

How a message is spelt, the tool's own module knows; whether it has come in, the tool's hooks tell.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import socket
from collections.abc import Callable
from typing import Any

from maestro.runner.order import Order

_SECONDS_MAX = 5.0  # a program that is there takes it at once


class Inbox:
    """The door beside the terminal."""

    def __init__(self, order: Order) -> None:
        self._spell: Callable[[str], bytes] = importlib.import_module(order.inbox["spelt_by"]).message
        self._path = str(order.inbox["path"])
        self._put: dict[str, None] = {}

    def request(self, do: str, asked: dict[str, Any]) -> dict[str, Any] | None:
        """What the server wants said; None for what this is not about."""
        if do != "prompt":
            return None
        name, text = str(asked.get("id")), str(asked.get("text"))
        if name in self._put:
            return {"state": "said"}  # the answer to it was lost
        try:
            self._write(self._spell(text))
        except OSError as problem:
            return {"state": "closed", "why": f"its inbox takes nothing: {problem.strerror or problem}"}
        self._put[name] = None
        return {"state": "said"}

    def close(self) -> None:
        """Takes the door away, with a folder that was made for it alone."""
        for away, what in ((os.unlink, self._path), (os.rmdir, os.path.dirname(self._path))):
            with contextlib.suppress(OSError):
                away(what)

    def _write(self, data: bytes) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as door:
            door.settimeout(_SECONDS_MAX)
            door.connect(self._path)
            door.sendall(data)
            door.shutdown(socket.SHUT_WR)
            while door.recv(4096):  # it hangs up once it has all
                pass
