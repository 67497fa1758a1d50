"""The display of the demonstration: a board that redraws itself in a terminal, plain lines elsewhere."""

from __future__ import annotations

import os
import sys
import time
from collections import deque
from typing import Any

_NEWS_LINES = 4
_MARKS = {"completed": "✔", "in_progress": "▶", "ready": "○", "todo": "·", "failed": "✘", "blocked": "■"}
_COLOURS = {"completed": "32", "in_progress": "33;1", "ready": "36", "todo": "2", "failed": "31", "blocked": "31"}


class TaskBoard:
    """The state of the tasks, and the last events."""

    def __init__(self, tasks: list[dict[str, Any]], depends_on: dict[str, list[str]], names: dict[str, str]) -> None:
        self._tasks = {task["id"]: dict(task) for task in tasks}
        self._depends_on = depends_on
        self._names = names
        self._live = sys.stdout.isatty()
        self._colour = self._live and "NO_COLOR" not in os.environ
        self._drawn = 0
        self._began = time.monotonic()
        self._news: deque[str] = deque(maxlen=_NEWS_LINES)

    def draw_board(self) -> None:
        if not self._live:
            return
        lines = [self._task_row(task) for task in self._tasks.values()] + ["", *self._news]
        if self._drawn:
            sys.stdout.write(f"\x1b[{self._drawn}F\x1b[J")
        sys.stdout.write("\n".join(lines) + "\n")
        sys.stdout.flush()
        self._drawn = len(lines)

    def print_news(self, text: str) -> None:
        """Print an event below the board, or as a plain line without a terminal."""
        self._news.append(f"  {time.monotonic() - self._began:5.1f} s  {text}")
        if self._live:
            self.draw_board()
        else:
            print(self._news[-1], flush=True)

    def apply_event(self, event: dict[str, Any]) -> None:
        """Apply an event to the board, and print it."""
        task = self._tasks.get(event["subject"])
        kind, data = event["kind"], event["data"]
        if task is None:
            return
        if "status" in data:
            task["status"], task["ready"] = data["status"], False
        if kind == "task.ready":
            task["ready"] = True
        if kind == "task.started":
            task["holder"] = data["holder"]
        holder = self._names.get(data.get("holder", ""), "?")
        text = {
            "task.started": f"{holder} claims {task['ref']} (fence {data.get('fence')})",
            "task.completed": f"{task['ref']} is completed",
            "task.ready": f"{task['ref']} is ready: all its dependencies are completed",
            "task.claim_expired": f"{task['ref']}: the lease ran out, the task is open again",
        }.get(kind)
        if text:
            self.print_news(text)

    def is_done(self) -> bool:
        return all(task["status"] == "completed" for task in self._tasks.values())

    def _task_row(self, task: dict[str, Any]) -> str:
        state = "ready" if task["status"] == "todo" and task["ready"] else task["status"]
        holder = self._names.get(task.get("holder") or "", "") if state in ("in_progress", "completed") else ""
        waits = ", ".join(self._depends_on.get(task["ref"], []))
        note = holder or (f"after {waits}" if waits and state == "todo" else "")
        mark = f"{_MARKS.get(state, ' ')} {state:<11}"
        if self._colour:
            mark = f"\x1b[{_COLOURS.get(state, '0')}m{mark}\x1b[0m"
        return f"  {mark} {task['ref']:<10} {task['title']:<34} {note}"
