"""A connection to the runner of one session, in the frames of docs/frames.md."""

from __future__ import annotations

import json
import os
import socket
from typing import Any

from maestro.wire import frames, runner_folder

_CHUNK = 1 << 16
_SECONDS_MAX = 10.0


class RunnerLink:
    """A connection to a runner. Sending and receiving raise OSError after the end of the connection."""

    def __init__(self, folder: str) -> None:
        self._received = frames.FrameBuffer()
        self._sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._sock.settimeout(_SECONDS_MAX)
        present = os.open(".", os.O_RDONLY | os.O_CLOEXEC)
        try:
            # A socket address holds about 100 bytes: connect by the bare name, from within the folder.
            os.chdir(folder)
            self._sock.connect(runner_folder.CONTROL_SOCKET)
        except BaseException:
            self._sock.close()
            raise
        finally:
            os.chdir(present)
            os.close(present)

    def fileno(self) -> int:
        return self._sock.fileno()

    def send_frame(self, kind: bytes, payload: bytes) -> None:
        self._sock.sendall(frames.pack_frame(kind, payload))

    def send_request(self, **request: Any) -> dict[str, Any]:
        """Send a request and return its answer; drop the frames that come before the answer."""
        self.send_frame(frames.QUERY, json.dumps(request).encode())
        while True:
            while (frame := self._received.take_frame()) is None:
                self._receive()
            if frame[0] == frames.ANSWER:
                answer: dict[str, Any] = json.loads(frame[1])
                return answer

    def receive_frames(self) -> list[tuple[bytes, bytes]]:
        """Return the received frames; wait at most ten seconds for the first. Raise OSError at the end."""
        received = self._take_frames()
        while not received:
            self._receive()
            received = self._take_frames()
        return received

    @property
    def has_more(self) -> bool:
        """Return whether the head of a further frame has arrived."""
        return self._received.has_head

    def close(self) -> None:
        self._sock.close()

    def _receive(self) -> None:
        data = self._sock.recv(_CHUNK)
        if not data:
            raise ConnectionResetError("the runner closed the connection")
        self._received.add_bytes(data)

    def _take_frames(self) -> list[tuple[bytes, bytes]]:
        taken: list[tuple[bytes, bytes]] = []
        while (frame := self._received.take_frame()) is not None:
            taken.append(frame)
        return taken
