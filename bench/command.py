"""The installed command compared with a bare interpreter: the cost of each hook and each command of an agent."""

from __future__ import annotations

from bench.installed import medians, place
from bench.report import Figure


def figures() -> list[Figure]:
    """Compare `maestro task list` of a fresh install, with both clients, with `python -c pass`."""
    with place() as here:
        for number in range(20):
            here.run("maestro", "task", "create", f"Task {number}")
        middle = medians(
            {
                "bare": lambda: here.run("python", "-c", "pass"),
                "python": lambda: here.run("maestro-py", "task", "list"),
                "native": lambda: here.run("maestro", "task", "list"),
            },
            before={},
        )
    note = ", ".join(f"{name} {taken * 1000:.1f} ms" for name, taken in middle.items())
    what = "`maestro task list` against `python -c pass`"
    return [
        Figure(f"{what}, Python client", middle["python"] / middle["bare"], at_most=1.3, note=note),
        Figure(f"{what}, native client", middle["native"] / middle["bare"], at_most=0.2),
    ]
