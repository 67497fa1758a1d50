"""A worker of the third part: the worker does a task in a separate checkout.

The worker has no model. It writes correct results, except for the planned failures of the demonstration.
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
    task = call_maestro("task", "show", os.environ["MAESTRO_TASK_IDS"])
    name = next((part for title, part in PARTS.items() if task["title"].endswith(title)), "boil")
    failures = len([result for result in task["evidence"] if not result["passed"]])
    if name == "sensor" and task["fence"] == 1:
        print("measuring …", flush=True)
        time.sleep(60)  # the demonstration kills this worker meanwhile
    if name == "boil" and "Attempt 2" in task["title"]:
        time.sleep(20)  # the slower attempt of the race
    degrees = 9.65 if name == "display" and failures == 0 else 96.5  # a planned mistake, which the gate finds
    Path(f"{name}.txt").write_text(f"{degrees}\n")
    run_git("add", "-A")
    run_git("commit", "--quiet", "--message", task["title"])
    call_maestro("session", "report", "complete", f"{name}.txt says {degrees}")
    return 0


def call_maestro(*arguments: str) -> Any:
    done = subprocess.run(["maestro", *arguments, "--json"], capture_output=True, text=True, check=False)
    return json.loads(done.stdout) if done.returncode == 0 else sys.exit(done.stderr)


def run_git(*arguments: str) -> None:
    subprocess.run(["git", "-c", "user.name=smith", "-c", "user.email=smith@example.org", *arguments], check=True)


if __name__ == "__main__":
    sys.exit(main())
