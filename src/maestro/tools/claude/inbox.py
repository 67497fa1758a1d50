"""Claude's messaging socket: encodes a message for a session in a terminal.

Each message needs its own connection. A message joins a running turn after the current tool call, or starts a turn,
and waits behind an open dialog; half-typed text stays. The socket gives no answer: the program's hooks or its
transcript confirm a message.
"""

from __future__ import annotations

import json
import uuid


def message(text: str) -> bytes:
    """Return the bytes to write to the socket."""
    message = {
        "msgV": 1,
        "msg_id": str(uuid.uuid4()),
        "type": "user",
        "message": {"role": "user", "content": text},
        "priority": "next",
    }
    return json.dumps(message, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
