"""The third part: Maestro starts a coordinator and workers, each in its own checkout.

Shows a graph with gates, a killed worker, a mistake that a gate finds, the merge into one branch, and a race.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from typing import Any

from maestro.demo.agent import print_line, print_title
from maestro.demo.world import DemoWorld, indent_text

SECONDS_MAX = 45.0
DOOMED = "Read the sensor"


def play_part(world: DemoWorld) -> bool:
    """Play the part. Return whether it was completed."""
    print("\nPart three: Maestro starts the agents itself: a coordinator, chief, and workers with a branch each.")
    print("The server decides which task runs next, from the graph, the gates and the attempts; no model decides.\n")
    world.run_git("commit", "--quiet", "--allow-empty", "--message", "first")
    began = time.time()
    with world.followed_events(seconds_max=SECONDS_MAX) as events:
        arguments = ("session", "spawn", "--name", "chief", "--mode", "coordinate", "--grant", "full")
        subject = ("--subject", "Boil water by software")
        print_line(
            "you", f"$ maestro {' '.join(arguments)} … -- python -m maestro.demo.runs_coordinator", began=began
        )
        world.run_maestro(*arguments, *subject, "--", sys.executable, "-m", "maestro.demo.runs_coordinator")
        finished = RunWatcher(world, began).watch_events(events)
    if finished:
        print_results(world)
    return finished


class RunWatcher:
    """Follows the log, prints events, and kills one worker."""

    def __init__(self, world: DemoWorld, began: float) -> None:
        self._world = world
        self._began = began
        self._names: dict[str, str] = {}
        self._titles: dict[str, str] = {}
        self._has_killed = False

    def watch_events(self, events: Iterator[dict[str, Any]]) -> bool:
        for event in events:
            kind, data, subject = event["kind"], event["data"], event["subject"]
            if kind == "session.registered":
                self._names[subject] = data["name"]
            elif kind == "task.created":
                self._titles[subject] = data["title"]
            line = self._event_line(kind, data, subject)
            if line:
                print_line("", line, began=self._began)
            if kind == "session.status_changed" and data["status"] == "working":
                self._maybe_kill(subject)
            if kind == "session.ended" and data["name"] == "chief":
                return bool(data["status"] == "completed")
        return False

    def _event_line(self, kind: str, data: dict[str, Any], subject: str) -> str | None:
        title_of_task = self._titles.get(subject, subject)
        match kind:
            case "run.started":
                return f"run of {data['task']} starts: {data['strategy']}"
            case "task.started":
                return (
                    f"{self._names.get(data['holder'], '?')} is started for “{title_of_task}” (fence {data['fence']})"
                )
            case "gate.failed":
                return f"gate of “{title_of_task}” fails: {data['command']} (exit {data['code']})"
            case "gate.passed":
                return f"gate of “{title_of_task}” passes: {data['command']}"
            case "run.attempt" if data["outcome"] != "completed":
                return f"attempt {data['attempt']} at {data['task']}: {data['outcome']}; a new attempt follows"
            case "task.cancelled":
                return f"“{title_of_task}” is stopped: {data.get('reason', '')}"
            case "run.ended":
                return f"run is {data['status']}"
        return None

    def _maybe_kill(self, session_id: str) -> None:
        """Kill the worker of the doomed task, once, while it works."""
        name = self._names.get(session_id, "")
        if self._has_killed or name == "chief":
            return
        session = self._world.call_for_json("session", "show", session_id)
        tasks = [self._titles.get(task, "") for task in session["tasks"]]
        if DOOMED in tasks and session["pid"]:
            self._has_killed = True
            print_line("you", f"$ kill -9 {session['pid']}  ({name}, which measures)", began=self._began)
            os.kill(session["pid"], signal.SIGKILL)


def print_results(world: DemoWorld) -> None:
    """Print the coordinator's transcript, the merged branch and the files."""
    print_title("The coordinator's transcript:")
    print(indent_text(world.run_maestro("session", "logs", "chief")), end="")
    first, *_ = [run for run in world.call_for_json("run", "list")["runs"] if run["strategy"] == "dag"]
    print_title("All work on one branch, merged into yours:")
    world.run_git("merge", "--quiet", "--ff-only", first["branch"])
    print(indent_text(world.run_git("log", "--oneline", "--graph", "--no-decorate")), end="")
    files = sorted(path.name for path in world.repository.glob("*.txt") if path.read_text() == "96.5\n")
    print(f"\n  {', '.join(files)}: every number is right, because a gate checked it.")
