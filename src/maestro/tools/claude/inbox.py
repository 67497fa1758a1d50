"""Claude's messaging socket: how a message is put to a session in a terminal, beside its keyboard.

One connection per message. It joins a running turn after the tool call that runs, starts one if there is none, and
waits behind an open dialog; half-typed text stays. Nothing is answered there: that a message has come in is told by
the program's hooks, or its transcript.
"""

from __future__ import annotations

import json
import uuid


def message(text: str) -> bytes:
    """What to write to the socket."""
    said = {
        "msgV": 1,
        "msg_id": str(uuid.uuid4()),
        "type": "user",
        "message": {"role": "user", "content": text},
        "priority": "next",
    }
    return json.dumps(said, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
