"""The coordinator of the third part: plans, starts two runs, and hears by mail how they came out."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

SMITH = [sys.executable, "-m", "maestro.demo.smith"]


def main() -> int:
    whole = call("task", "create", "Boil water by software")["ref"]
    below = ("--parent", whole)
    sensor = call("task", "create", "Read the sensor", *below, "--gate", "grep -qx 96.5 sensor.txt")["ref"]
    display = call("task", "create", "Format the display", *below, "--gate", "grep -qx 96.5 display.txt")["ref"]
    both = ("--depends-on", f"{sensor},{display}", "--gate", "cat sensor.txt display.txt boil.txt")
    call("task", "create", "Boil", *below, *both)
    first = run(whole, "--max-parallel", "2", "--attempts", "3")
    race = call("task", "create", "Boil faster", "--gate", "test -s boil.txt")["ref"]
    second = run(race, "--strategy", "race", "--attempts", "2")
    call("session", "report", "complete", f"{first}; {second}")
    return 0


def run(ref: str, *words: str) -> str:
    """A run, and what the mail says of its end: the coordinator waits, and does not look."""
    started = call("run", ref, "--worktree", "--detach", *words, after=("--", *SMITH))
    print(f"started {started['id']} for {ref}", flush=True)
    while True:
        for message in call("mail", "wait", "--timeout", "60s")["messages"]:
            print(f"◂ {message['subject']}", flush=True)
            if message["subject"].startswith(started["id"]):
                return str(message["subject"])


def call(*words: str, after: tuple[str, ...] = ()) -> Any:
    done = subprocess.run(["maestro", *words, "--json", *after], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"maestro {' '.join(words)}: {done.stderr}")
    return json.loads(done.stdout)


if __name__ == "__main__":
    sys.exit(main())
