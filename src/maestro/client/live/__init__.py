"""What a person looks at while it goes on: an agent's terminal, its transcript, a run, the end of the server.

Runs in the client after the server has done its part (the frame `L` of docs/frames.md), and outlives it.
"""

from __future__ import annotations

import importlib
import json

from maestro.client import thin

_VIEWS = {"attach": "attach", "down": "down", "logs": "logs", "run": "run", "save": "save"}


def run(handed: bytes) -> int:
    """Goes on with what the server handed over; the exit code."""
    facts = json.loads(handed)
    view = _VIEWS.get(facts.pop("do"))
    if view is None:
        raise thin.Ended(thin.FAILED, "the server left something to this client that it does not know")
    return int(importlib.import_module(f"maestro.client.live.{view}").run(**facts))
