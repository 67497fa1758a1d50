"""`make bench [CASE=…]`: measure and print each figure with its bar. Exit with 1 if a figure misses its bar."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

import uvloop

from bench import (
    command,
    hooks,
    http,
    idle,
    issues,
    mail_command,
    mail_crowd,
    mail_http,
    mail_store,
    mcp,
    prompts,
    run_tasks,
    sessions,
    store,
)
from bench.report import Figure

CASES: dict[str, Callable[[], list[Figure]]] = {
    "command": command.figures,
    "mail-command": mail_command.figures,
    "http": lambda: [http.writes(), http.reads_under_writes()],
    "mail-http": lambda: [mail_http.sends(), mail_http.wake_up()],
    "mcp": mcp.figures,
    "hooks": hooks.figures,
    "mail-store": lambda: [uvloop.run(mail_store.broadcast()), *uvloop.run(mail_store.large_store())],
    "mail-crowd": mail_crowd.figures,
    "issues": lambda: [issues.opening()],
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
    "prompts": lambda: [prompts.composing()],
    "sessions": lambda: [sessions.starting(), sessions.crashing(), *sessions.idling(), sessions.stopping()],
    "runs": lambda: [run_tasks.no_ops(), run_tasks.sleeps()],
    "runs-killed": run_tasks.killed,
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
