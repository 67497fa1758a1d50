"""The start of the command: `maestro task list` with twenty tasks, with the native and the Python client."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from case import Case, Measure
from place import opened_place, times_of

COMMANDS = 15


@contextmanager
def _task_list(program: str) -> Iterator[Measure]:
    with opened_place() as place:
        for number in range(20):
            place.post("/api/tasks", {"title": f"Task {number}", "project": place.project})
        place.run(program, "task", "list")
        yield lambda: times_of(lambda: place.run(program, "task", "list"), COMMANDS)


CASES = [
    Case("command-native", "command", 1, lambda: _task_list("maestro")),
    Case("command-python", "command", 1, lambda: _task_list("maestro-py")),
]
