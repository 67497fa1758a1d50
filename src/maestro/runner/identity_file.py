"""The identity file in a runner's folder: it names the processes of the runner and its program.

The next server needs the file when it finds a program without its runner.
"""

from __future__ import annotations

import json
import os

from maestro.runner import process_tree
from maestro.runner.config import IDENTITY_FILE


def write_identity(epoch: int, agent: int, agent_started: str) -> None:
    """Write the file, whole or not at all."""
    identity = {
        "epoch": epoch,
        "runner": os.getpid(),
        "runner_started": process_tree.process_start(os.getpid()),
        "agent": agent,
        "agent_started": agent_started,
    }
    with open(f"{IDENTITY_FILE}.part", "w", encoding="utf-8") as file:
        file.write(json.dumps(identity))
    os.replace(f"{IDENTITY_FILE}.part", IDENTITY_FILE)
