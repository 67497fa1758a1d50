"""Push texts to a program in a terminal without its keyboard.

A text goes into a socket on which the program listens, or into a pipe from which a command of the model reads. The
tool's own module knows the format of a text; the tool's hooks report that a text has arrived.
"""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
import select
import socket
from collections.abc import Callable
from typing import Any, Protocol

from maestro.wire import runner_requests
from maestro.wire.runner_order import RunnerOrder

_SECONDS_MAX = 5.0  # a running program takes a text at once
_PUSHED: dict[str, Any] = {runner_requests.PUSH_STATE: runner_requests.PUSHED}
_NO_READER = "the model runs no command that waits for Maestro"


class InboxChannel(Protocol):
    """A channel through which a text reaches the program."""

    def send_text(self, text: str) -> None:
        """Send a text; raise OSError if the program does not take the text."""

    def has_reader(self) -> bool:
        """Return whether a reader is probably there; the check sends no bytes."""

    def close(self) -> None:
        """Remove the channel."""


class ProgramInbox:
    """The inbox of a program in a terminal."""

    def __init__(self, order: RunnerOrder) -> None:
        self.has_waiter = order.inbox.get("kind") == "pipe"  # a command that the agent started reads the pipe
        self._channel: InboxChannel = InboxPipe(order.inbox["path"]) if self.has_waiter else InboxSocket(order)
        self._pushed_ids: dict[str, None] = {}

    def handle_request(self, action: str, arguments: dict[str, Any]) -> dict[str, Any] | None:
        """Carry out a push of the server; return its answer, or None for requests of another kind."""
        if action != runner_requests.PROMPT:
            return None
        push_id, text = str(arguments.get("id")), str(arguments.get("text"))
        if push_id in self._pushed_ids:
            return _PUSHED  # a repeated push: the server did not get the first answer
        try:
            self._channel.send_text(text)
        except OSError as problem:
            reason = f"the inbox does not take the text: {problem.strerror or problem}"
            return {runner_requests.PUSH_STATE: runner_requests.CLOSED, runner_requests.REASON: reason}
        self._pushed_ids[push_id] = None
        return _PUSHED

    def describe_state(self) -> dict[str, Any]:
        return {runner_requests.LISTENS: self._channel.has_reader()}

    def close(self) -> None:
        self._channel.close()


class InboxSocket:
    """A socket on which the program listens. Each text has its own connection."""

    def __init__(self, order: RunnerOrder) -> None:
        self._encode_text: Callable[[str], bytes] = importlib.import_module(order.inbox["spelt_by"]).message
        self._path = order.inbox["path"]

    def send_text(self, text: str) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(_SECONDS_MAX)
            connection.connect(self._path)
            connection.sendall(self._encode_text(text))
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(4096):  # the program closes the connection after it has read the text
                pass

    def has_reader(self) -> bool:
        return os.path.exists(self._path)

    def close(self) -> None:
        """Remove the socket, and its folder if the folder was made only for the socket."""
        for remove, path in ((os.unlink, self._path), (os.rmdir, os.path.dirname(self._path))):
            with contextlib.suppress(OSError):
                remove(path)


class InboxPipe:
    """A named pipe. A reader gets one text, and then the end of the pipe.

    Once opened for a reader, the runner's end stays open until the next text: a close would end the reader.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._descriptor = -1
        with contextlib.suppress(FileNotFoundError):  # the pipe of an earlier start
            os.unlink(path)
        os.mkfifo(path, 0o600)

    def send_text(self, text: str) -> None:
        if not self.has_reader():
            raise OSError(errno.ENXIO, _NO_READER)
        data = text.encode("utf-8", "replace") + b"\n"
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
        finally:
            self._close_descriptor()

    def has_reader(self) -> bool:
        if self._descriptor >= 0 and self._has_no_reader():
            self._close_descriptor()
        if self._descriptor < 0:
            with contextlib.suppress(OSError):  # the pipe has no reader
                self._descriptor = os.open(self._path, os.O_WRONLY | os.O_NONBLOCK)
        return self._descriptor >= 0

    def close(self) -> None:
        self._close_descriptor()
        with contextlib.suppress(OSError):
            os.unlink(self._path)

    def _has_no_reader(self) -> bool:
        """Return whether the last reader has gone."""
        poll = select.poll()
        poll.register(self._descriptor, 0)
        return any(events & (select.POLLERR | select.POLLNVAL) for _, events in poll.poll(0))

    def _close_descriptor(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
