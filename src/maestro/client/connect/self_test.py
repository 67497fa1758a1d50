"""Run the hooks from a tool's settings as the tool would run them, and check the answers."""

from __future__ import annotations

import json
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

_SECONDS_MAX = 15


@dataclass(frozen=True)
class HookTest:
    """The result of one test hook."""

    event: str
    milliseconds: float
    problem: str = ""


def run_hook(command: str, directory: Path) -> HookTest:
    """Run one hook. The payload marks the hook as a test, which has no effect in the server."""
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
        return HookTest(event, _SECONDS_MAX * 1000, f"no answer within {_SECONDS_MAX} s")
    milliseconds = (time.perf_counter() - began) * 1000
    if done.returncode != 0:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        return HookTest(event, milliseconds, f"exit code {done.returncode}: {lines[-1] if lines else ''}")
    try:
        answer = json.loads(done.stdout or b"{}")
    except ValueError:
        answer = {}
    if not isinstance(answer, dict) or (answer.get("maestro"), answer.get("event")) != ("ok", event):
        return HookTest(event, milliseconds, "the server did not answer; for the reason run: maestro doctor")
    return HookTest(event, milliseconds)
