"""Store a late hook: a hook event that no server got, for the next server (docs/hooks.md).

Only hooks of sessions that Maestro started are stored: their token names the session later. Each session keeps only
the last hook of each event, which bounds the folder's size while no server runs. The native client does the same.
"""

import os
import select
import time
from contextlib import suppress

from maestro.client import main
from maestro.wire import late_hook

_SECONDS_MAX = 0.5  # the time in which a program may finish to write the hook's payload
_PLAIN = "_-"


def store_late_hook(tool: str, event: str, payload_chunks: list[bytes]) -> None:
    """Store a hook, if possible. `payload_chunks` holds the chunks of the payload that were read so far."""
    session, token = main.read_variable("MAESTRO_SESSION_ID"), main.read_variable("MAESTRO_TOKEN")
    if not token or "\n" in token or not all(map(_is_plain_name, (session, tool, event))):
        return
    with suppress(OSError):
        payload = _read_payload(payload_chunks)
        if payload is not None:
            _write(session, f"{session}.{tool}.{event}", token, payload)


def _write(session: str, name: str, token: str, payload: bytes) -> None:
    beside = os.path.dirname(main.socket_path())  # noqa: PTH120  pathlib is slow to import
    folder = f"{beside or '.'}/{late_hook.FOLDER}"
    part = f"{folder}/.{session}.{os.getpid()}"
    content = late_hook.pack_hook(time.time_ns(), token, payload)
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        main.write_all(descriptor, content)
        os.rename(part, f"{folder}/{name}")  # noqa: PTH104
    except (OSError, main.CommandEnded):
        os.unlink(part)  # noqa: PTH108


def _is_plain_name(name: str) -> bool:
    return bool(name) and name.isascii() and all(char.isalnum() or char in _PLAIN for char in name)


def _read_payload(chunks: list[bytes]) -> bytes | None:
    """Read the rest of the payload and return all of it; None if the payload is too long or incomplete."""
    until = time.monotonic() + _SECONDS_MAX
    poll = select.poll()
    poll.register(0, select.POLLIN)
    size = sum(map(len, chunks))
    while size <= late_hook.PAYLOAD_BYTES_MAX and poll.poll(max(0.0, until - time.monotonic()) * 1000):
        data = os.read(0, main.CHUNK_BYTES)
        if not data:
            return b"".join(chunks)
        chunks.append(data)
        size += len(data)
    return None
