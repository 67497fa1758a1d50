"""The coordinator of the third part: it plans tasks, starts two runs, and learns their outcome by mail."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

WORKER = [sys.executable, "-m", "maestro.demo.runs_worker"]


def main() -> int:
    parent = call_maestro("task", "create", "Boil water by software")["ref"]
    below = ("--parent", parent)
    sensor = call_maestro("task", "create", "Read the sensor", *below, "--gate", "grep -qx 96.5 sensor.txt")["ref"]
    display = call_maestro("task", "create", "Format the display", *below, "--gate", "grep -qx 96.5 display.txt")[
        "ref"
    ]
    both = ("--depends-on", f"{sensor},{display}", "--gate", "cat sensor.txt display.txt boil.txt")
    call_maestro("task", "create", "Boil", *below, *both)
    first = follow_run(parent, "--max-parallel", "2", "--attempts", "3")
    race = call_maestro("task", "create", "Boil faster", "--gate", "test -s boil.txt")["ref"]
    second = follow_run(race, "--strategy", "race", "--attempts", "2")
    call_maestro("session", "report", "complete", f"{first}; {second}")
    return 0


def follow_run(ref: str, *arguments: str) -> str:
    """Start a run and return the subject of the mail about its end. The coordinator waits and does not poll."""
    started = call_maestro("run", ref, "--worktree", "--detach", *arguments, after=("--", *WORKER))
    print(f"started {started['id']} for {ref}", flush=True)
    while True:
        for message in call_maestro("mail", "wait", "--timeout", "60s")["messages"]:
            print(f"◂ {message['subject']}", flush=True)
            if message["subject"].startswith(started["id"]):
                return str(message["subject"])


def call_maestro(*arguments: str, after: tuple[str, ...] = ()) -> Any:
    done = subprocess.run(["maestro", *arguments, "--json", *after], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"maestro {' '.join(arguments)}: {done.stderr}")
    return json.loads(done.stdout)


if __name__ == "__main__":
    sys.exit(main())
