"""The identity file in a runner's folder: it names the processes of the runner and its program.

The next server needs the file when it finds a program without its runner.
"""

from __future__ import annotations

import json
import os

from maestro.runner import process_tree
from maestro.wire import runner_folder


def write_identity(epoch: int, program: int, program_started: str) -> None:
    """Write the file, whole or not at all."""
    identity = {
        "epoch": epoch,
        "runner": os.getpid(),
        "runner_started": process_tree.process_start(os.getpid()),
        "program": program,
        "program_started": program_started,
    }
    with open(f"{runner_folder.IDENTITY}.part", "w", encoding="utf-8") as file:
        file.write(json.dumps(identity))
    os.replace(f"{runner_folder.IDENTITY}.part", runner_folder.IDENTITY)
