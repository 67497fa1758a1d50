"""A worker of the third part: does the task it was started for, in the checkout it was given.

It has no model. What it writes is right, but for what the play wants to go wrong.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

PARTS = {"Read the sensor": "sensor", "Format the display": "display", "Boil": "boil"}


def main() -> int:
    task = asked("task", "show", os.environ["MAESTRO_TASK_IDS"])
    name = next((part for title, part in PARTS.items() if task["title"].endswith(title)), "boil")
    tries = len([one for one in task["evidence"] if not one["passed"]])
    if name == "sensor" and task["fence"] == 1:
        print("measuring …", flush=True)
        time.sleep(60)  # the person will not let it come to its end
    if name == "boil" and "Attempt 2" in task["title"]:
        time.sleep(20)  # the slow one of the race
    degrees = 9.65 if name == "display" and tries == 0 else 96.5  # a slip, which the gate will find
    Path(f"{name}.txt").write_text(f"{degrees}\n")
    git("add", "-A")
    git("commit", "--quiet", "--message", task["title"])
    asked("session", "report", "complete", f"{name}.txt says {degrees}")
    return 0


def asked(*words: str) -> Any:
    done = subprocess.run(["maestro", *words, "--json"], capture_output=True, text=True, check=False)
    return json.loads(done.stdout) if done.returncode == 0 else sys.exit(done.stderr)


def git(*words: str) -> None:
    subprocess.run(["git", "-c", "user.name=smith", "-c", "user.email=smith@example.org", *words], check=True)


if __name__ == "__main__":
    sys.exit(main())
