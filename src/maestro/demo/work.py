"""The third part: a coordinator and workers that Maestro itself starts, each in a checkout of its own.

A graph with gates, a worker that is killed, a slip that a gate finds, work that comes together on one branch, a race.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from typing import Any

from maestro.demo.agent import say, title
from maestro.demo.world import World, indented

SECONDS_MAX = 45.0
DOOMED = "Read the sensor"


def act(world: World) -> bool:
    """Whether it went to its end."""
    print("\nNow Maestro starts the agents itself: a coordinator, chief, whose workers have a branch each.")
    print("No model decides what runs next: a loop in the server does, from the graph, the gates and the retries.\n")
    world.git("commit", "--quiet", "--allow-empty", "--message", "first")
    began = time.time()
    with world.followed(seconds_max=SECONDS_MAX) as events:
        words = ("session", "spawn", "--name", "chief", "--mode", "coordinate", "--grant", "full")
        about = ("--subject", "Boil water by software")
        say("you", f"$ maestro {' '.join(words)} … -- python -m maestro.demo.chief", began=began)
        world.maestro(*words, *about, "--", sys.executable, "-m", "maestro.demo.chief")
        finished = Watching(world, began).watch(events)
    if finished:
        report(world)
    return finished


class Watching:
    """Follows the log, says what happened, and kills one worker."""

    def __init__(self, world: World, began: float) -> None:
        self._world = world
        self._began = began
        self._names: dict[str, str] = {}
        self._titles: dict[str, str] = {}
        self._has_killed = False

    def watch(self, events: Iterator[dict[str, Any]]) -> bool:
        for event in events:
            kind, data, subject = event["kind"], event["data"], event["subject"]
            if kind == "session.registered":
                self._names[subject] = data["name"]
            elif kind == "task.created":
                self._titles[subject] = data["title"]
            said = self._line(kind, data, subject)
            if said:
                say("", said, began=self._began)
            if kind == "session.status_changed" and data["status"] == "working":
                self._maybe_kill(subject)
            if kind == "session.ended" and data["name"] == "chief":
                return bool(data["status"] == "completed")
        return False

    def _line(self, kind: str, data: dict[str, Any], subject: str) -> str | None:
        what = self._titles.get(subject, subject)
        match kind:
            case "run.started":
                return f"run of {data['task']} begins: {data['strategy']}"
            case "task.started":
                return f"{self._names.get(data['holder'], '?')} is started for “{what}” (fence {data['fence']})"
            case "gate.failed":
                return f"gate of “{what}” fails: {data['command']} (exit {data['code']})"
            case "gate.passed":
                return f"gate of “{what}” passes: {data['command']}"
            case "run.attempt" if data["outcome"] != "completed":
                return f"try {data['attempt']} at {data['task']}: {data['outcome']}; it is tried again"
            case "task.cancelled":
                return f"“{what}” is stopped: {data.get('reason', '')}"
            case "run.ended":
                return f"run is {data['status']}"
        return None

    def _maybe_kill(self, session_id: str) -> None:
        """The worker that measures, once it is at it."""
        name = self._names.get(session_id, "")
        if self._has_killed or name == "chief":
            return
        session = self._world.ask("session", "show", session_id)
        tasks = [self._titles.get(task, "") for task in session["tasks"]]
        if DOOMED in tasks and session["pid"]:
            self._has_killed = True
            say("you", f"$ kill -9 {session['pid']}  ({name}, which measures)", began=self._began)
            os.kill(session["pid"], signal.SIGKILL)


def report(world: World) -> None:
    """What remains, and who says so."""
    title("What the coordinator saw, from its transcript:")
    print(indented(world.maestro("session", "logs", "chief")), end="")
    first, *_ = [one for one in world.ask("run", "list")["runs"] if one["strategy"] == "dag"]
    title("All work on one branch, and then on yours:")
    world.git("merge", "--quiet", "--ff-only", first["branch"])
    print(indented(world.git("log", "--oneline", "--graph", "--no-decorate")), end="")
    made = sorted(path.name for path in world.repository.glob("*.txt") if path.read_text() == "96.5\n")
    print(f"\n  {', '.join(made)}: every number right, because a gate asked.")
