"""One agent of the demo: a process that knows nothing but the `maestro` command and its own token.

It takes whatever is ready, works on it, reports, and waits without polling when nothing is.
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


def maestro(command: list[str], *words: str) -> tuple[int, Any]:
    """Exit code and answer of one command."""
    done = subprocess.run([*command, *words, "--json"], capture_output=True, text=True, check=False)
    return done.returncode, json.loads(done.stdout) if done.stdout else None


def work(name: str, task: dict[str, Any]) -> None:
    """Something real: it takes a while, and leaves a file."""
    time.sleep(random.uniform(0.5, 1.1))
    Path(f"{task['number']:02}.txt").write_text(f"{task['title']}: done by {name}\n")


def take_one(command: list[str], name: str, parent: str, hang_on: str) -> bool:
    """Claim the first ready task that nobody else gets first, and do it."""
    _, ready = maestro(command, "task", "ready", parent)
    for task in ready["tasks"]:
        code, claimed = maestro(command, "task", "claim", task["ref"], "--lease", _LEASE)
        if code != 0:
            continue  # another was quicker
        if task["title"] == hang_on and claimed["fence"] == 1:
            time.sleep(3600)  # whoever takes this first will be killed in the middle of its work
        work(name, task)
        maestro(
            command, "task", "report", "complete", task["ref"], f"done by {name}", "--fence", str(claimed["fence"])
        )
        return True
    return False


def main() -> None:
    name, hang_on, parent, *command = sys.argv[1:]
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    while True:
        if take_one(command, name, parent, hang_on):
            continue
        _, waiting = maestro(command, "task", "children", parent)
        still_open = [task["ref"] for task in waiting["tasks"] if task["status"] != "completed"]
        if not still_open:
            return
        maestro(command, "task", "wait", ",".join(still_open), "--until", "any-change", "--timeout", "3s")


if __name__ == "__main__":
    main()
