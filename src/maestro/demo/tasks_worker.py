"""An agent of part one: a process that knows only the `maestro` command and a session's token.

The agent claims ready tasks, works on them and reports. Without a ready task it waits for a change.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

_LEASE = "5s"


def call_maestro(command: list[str], *arguments: str) -> tuple[int, Any]:
    """Return the exit code and the answer of a command."""
    done = subprocess.run([*command, *arguments, "--json"], capture_output=True, text=True, check=False)
    return done.returncode, json.loads(done.stdout) if done.stdout else None


def work_on_task(name: str, task: dict[str, Any]) -> None:
    """Work for a moment, and write a file."""
    time.sleep(random.uniform(0.5, 1.1))
    Path(f"{task['number']:02}.txt").write_text(f"{task['title']}: done by {name}\n")


def do_next_task(command: list[str], name: str, parent: str, hang_on: str) -> bool:
    """Claim a ready task and complete it. Return False if no task could be claimed."""
    _, ready = call_maestro(command, "task", "ready", parent)
    for task in ready["tasks"]:
        code, claimed = call_maestro(command, "task", "claim", task["ref"], "--lease", _LEASE)
        if code != 0:
            continue  # another agent has claimed the task first
        if task["title"] == hang_on and claimed["fence"] == 1:
            time.sleep(3600)  # the demonstration kills the first holder of this task meanwhile
        work_on_task(name, task)
        call_maestro(
            command, "task", "report", "complete", task["ref"], f"done by {name}", "--fence", str(claimed["fence"])
        )
        return True
    return False


def main() -> None:
    name, hang_on, parent, *command = sys.argv[1:]
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    while True:
        if do_next_task(command, name, parent, hang_on):
            continue
        _, waiting = call_maestro(command, "task", "children", parent)
        still_open = [task["ref"] for task in waiting["tasks"] if task["status"] != "completed"]
        if not still_open:
            return
        call_maestro(command, "task", "wait", ",".join(still_open), "--until", "any-change", "--timeout", "3s")


if __name__ == "__main__":
    main()
