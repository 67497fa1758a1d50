"""Who a runner and its agent are, in its folder: for whoever finds the one without the other."""

from __future__ import annotations

import json
import os

from maestro.runner import tree
from maestro.runner.order import NOTE


def keep(epoch: int, agent: int, agent_started: str) -> None:
    """All of it, or what was there before."""
    note = {
        "epoch": epoch,
        "runner": os.getpid(),
        "runner_started": tree.started(os.getpid()),
        "agent": agent,
        "agent_started": agent_started,
    }
    with open(f"{NOTE}.part", "w", encoding="utf-8") as file:
        file.write(json.dumps(note))
    os.replace(f"{NOTE}.part", NOTE)
