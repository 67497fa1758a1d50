"""`make bench [CASE=…]`: measure each bar and print it; exit 1 when one is missed."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

import uvloop

from bench import command, http, idle, store
from bench.report import Figure

CASES: dict[str, Callable[[], list[Figure]]] = {
    "command": command.figures,
    "http": lambda: [http.writes(), http.reads_under_writes()],
    "commits": lambda: [uvloop.run(store.grouped_commits())],
    "ready": lambda: [uvloop.run(store.ready_list())],
    "edges": lambda: uvloop.run(
        store.cycle_checks(
            {
                "random": (store.random_graph, 10),
                "layered": (store.layered_graph, 10),
                "chain": (store.chain, 150),
            }
        )
    ),
    "idle": lambda: [idle.idle()],
}


def main() -> int:
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    asked = sys.argv[1:] or list(CASES)
    missed = 0
    for name in asked:
        print(f"— {name}", flush=True)
        for figure in CASES[name]():
            print(figure.line(), flush=True)
            missed += not figure.met
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
