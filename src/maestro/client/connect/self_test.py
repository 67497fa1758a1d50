"""Fires each hook that stands in a program's settings, as the program would, and looks at what comes back."""

from __future__ import annotations

import json
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

_SECONDS_MAX = 15


@dataclass(frozen=True)
class Tried:
    """How one hook did."""

    event: str
    milliseconds: float
    problem: str = ""


def fire(command: str, directory: Path) -> Tried:
    """One hook. The payload says that it is a test, so nothing follows from it."""
    event = command.rsplit(" ", 1)[-1]
    payload = json.dumps({"maestro_test": "connect", "hook_event_name": event, "cwd": str(directory)})
    began = time.perf_counter()
    try:
        done = subprocess.run(
            ["/bin/sh", "-c", command],
            input=payload.encode(),
            capture_output=True,
            cwd=directory,
            timeout=_SECONDS_MAX,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Tried(event, _SECONDS_MAX * 1000, f"no answer within {_SECONDS_MAX} s")
    taken = (time.perf_counter() - began) * 1000
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        return Tried(event, taken, f"exit code {done.returncode}: {said[-1] if said else ''}")
    try:
        answer = json.loads(done.stdout or b"{}")
    except ValueError:
        answer = {}
    if not isinstance(answer, dict) or (answer.get("maestro"), answer.get("event")) != ("ok", event):
        return Tried(event, taken, "the server did not answer (maestro doctor says more)")
    return Tried(event, taken)
