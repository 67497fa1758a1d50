"""Keeps a hook that no server heard, for the next one to know what happened (docs/hooks.md).

Only of agents that Maestro started: their token says later who it was. Of each event the last is kept, so that what
lies there stays little however long no server comes. The native client does the same.
"""

import os
import select
import time
from contextlib import suppress

from maestro.client import thin

FOLDER = "hooks"  # beside the server's socket, made by the server: without it nobody would come for what is kept
FORMAT = "maestro-hook/1"
BYTES_MAX = 1 << 20
_SECONDS_MAX = 0.5  # that a program may still take to say what it had to say
_PLAIN = "_-"


def keep(tool: str, event: str, heard: list[bytes]) -> None:
    """`heard` is what was read so far of what the program says. If it cannot be kept, it is not."""
    session, token = thin.setting("MAESTRO_SESSION_ID"), thin.setting("MAESTRO_TOKEN")
    if not token or "\n" in token or not all(map(_is_plain, (session, tool, event))):
        return
    with suppress(OSError):
        payload = _all_of(heard)
        if payload is not None:
            _write(session, f"{session}.{tool}.{event}", token, payload)


def _write(session: str, name: str, token: str, payload: bytes) -> None:
    beside = os.path.dirname(thin.socket_path())  # noqa: PTH120  pathlib costs more than all of this
    folder = f"{beside or '.'}/{FOLDER}"
    part = f"{folder}/.{session}.{os.getpid()}"
    head = f"{FORMAT}\n{time.time_ns()}\n{token}\n".encode(errors="replace")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        thin.put(descriptor, head + payload)
        os.rename(part, f"{folder}/{name}")  # noqa: PTH104
    except (OSError, thin.Ended):
        os.unlink(part)  # noqa: PTH108


def _is_plain(word: str) -> bool:
    return bool(word) and word.isascii() and all(letter.isalnum() or letter in _PLAIN for letter in word)


def _all_of(heard: list[bytes]) -> bytes | None:
    """The whole payload; None if it is too long, or does not come to its end."""
    until = time.monotonic() + _SECONDS_MAX
    poll = select.poll()
    poll.register(0, select.POLLIN)
    size = sum(map(len, heard))
    while size <= BYTES_MAX and poll.poll(max(0.0, until - time.monotonic()) * 1000):
        data = os.read(0, thin.CHUNK_BYTES)
        if not data:
            return b"".join(heard)
        heard.append(data)
        size += len(data)
    return None
