"""The coordinator of the third part: it plans tasks, starts two runs, and learns their outcome by mail."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

SMITH = [sys.executable, "-m", "maestro.demo.smith"]


def main() -> int:
    parent = call("task", "create", "Boil water by software")["ref"]
    below = ("--parent", parent)
    sensor = call("task", "create", "Read the sensor", *below, "--gate", "grep -qx 96.5 sensor.txt")["ref"]
    display = call("task", "create", "Format the display", *below, "--gate", "grep -qx 96.5 display.txt")["ref"]
    both = ("--depends-on", f"{sensor},{display}", "--gate", "cat sensor.txt display.txt boil.txt")
    call("task", "create", "Boil", *below, *both)
    first = run(parent, "--max-parallel", "2", "--attempts", "3")
    race = call("task", "create", "Boil faster", "--gate", "test -s boil.txt")["ref"]
    second = run(race, "--strategy", "race", "--attempts", "2")
    call("session", "report", "complete", f"{first}; {second}")
    return 0


def run(ref: str, *arguments: str) -> str:
    """Start a run and return the subject of the mail about its end. The coordinator waits and does not poll."""
    started = call("run", ref, "--worktree", "--detach", *arguments, after=("--", *SMITH))
    print(f"started {started['id']} for {ref}", flush=True)
    while True:
        for message in call("mail", "wait", "--timeout", "60s")["messages"]:
            print(f"◂ {message['subject']}", flush=True)
            if message["subject"].startswith(started["id"]):
                return str(message["subject"])


def call(*arguments: str, after: tuple[str, ...] = ()) -> Any:
    done = subprocess.run(["maestro", *arguments, "--json", *after], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"maestro {' '.join(arguments)}: {done.stderr}")
    return json.loads(done.stdout)


if __name__ == "__main__":
    sys.exit(main())
