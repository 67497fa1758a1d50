"""Live views for the person: a session's terminal, its transcript, a run, the end of the server.

A view runs in the client after the server has done its part (the frame `L` of docs/frames.md), and outlives it.
"""

from __future__ import annotations

import importlib
import json

from maestro.client import main
from maestro.wire import exit_codes

# Keys of servers before schema 20: the server of an upgrade is still the earlier one when `maestro down` ends it.
_EARLIER_KEYS = {"said": "text", "words": "arguments"}
_VIEWS = {"attach": "attach", "down": "down", "logs": "logs", "run": "run", "save": "save"}


def run(handed: bytes) -> int:
    """Run the view that the server handed over; return the exit code."""
    facts = {_EARLIER_KEYS.get(key, key): value for key, value in json.loads(handed).items()}
    view = _VIEWS.get(facts.pop("do"))
    if view is None:
        raise main.CommandEnded(
            exit_codes.FAILED,
            "the server asks for a view that this client does not know; compare the versions: maestro doctor",
        )
    return int(importlib.import_module(f"maestro.client.live.{view}").run(**facts))
