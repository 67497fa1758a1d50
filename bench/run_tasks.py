"""Runs of small programs: the cost of a dispatch, and the throughput compared with a bare process pool."""

from __future__ import annotations

import random
import subprocess
import threading
import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

from bench.report import Figure
from bench.yard import Yard, yard

PARALLEL = 8
NO_OPS = 500
SLEEPS = 60
KILLS = 20
_SECONDS_MAX = 600

Graph = list[list[int]]  # for each task, the earlier tasks that it waits for


def graph(size: int, *, seed: int) -> Graph:
    """Return a graph in which each task waits for up to two earlier tasks."""
    chance = random.Random(seed)
    return [chance.sample(range(number), k=min(number, chance.randrange(3))) for number in range(size)]


def no_ops() -> Figure:
    """Run 500 tasks that do nothing, and return the cost of a dispatch per worker slot."""
    shape = graph(NO_OPS, seed=4)
    with yard() as here:
        took, order = _run(here, shape, seconds=0)
    _check(order, shape)
    bare = _pool(shape, seconds=0)
    each = (took - bare) / NO_OPS * PARALLEL * 1e3
    note = f"{took:.1f} s for {NO_OPS}, {PARALLEL} at a time; a bare pool takes {bare:.1f} s"
    return Figure("dispatch of a no-op task, per worker slot", each, at_most=150, unit=" ms", note=note)


def sleeps() -> Figure:
    """Compare 60 tasks of a second with a bare pool for the same graph."""
    shape = graph(SLEEPS, seed=5)
    bare = _pool(shape, seconds=1)
    with yard() as here:
        took, order = _run(here, shape, seconds=1)
    _check(order, shape)
    note = f"{took:.1f} s; the pool takes {bare:.1f} s"
    return Figure(f"{SLEEPS} one-second tasks, throughput against a bare pool", bare / took, at_least=0.8, note=note)


def killed() -> list[Figure]:
    """Repeat both runs with twenty kills of the server, and return the number of errors."""
    figures = []
    for size, seconds, pause in ((NO_OPS, 0.0, 0.6), (SLEEPS, 1.0, 0.2)):  # the pause keeps all kills within the run
        shape = graph(size, seed=6)
        with yard() as here:
            took, order = _run(here, shape, seconds=seconds, kills=KILLS, pause=pause)
        what = (
            f"{size} tasks of {seconds:g} s, the server killed {KILLS} times: orders broken, tasks run twice or never"
        )
        figures.append(Figure(what, len(_wrong(order, shape)), at_most=0, unit="", note=f"{took:.0f} s"))
    return figures


def _run(
    here: Yard, shape: Graph, *, seconds: float, kills: int = 0, pause: float = 0.0
) -> tuple[float, list[tuple[str, int]]]:
    """Return the time of a run, and the order in which the tasks started and ended."""
    parent = _task(here, "All of it")
    made: list[str] = []
    for number, needs in enumerate(shape):
        made.append(_task(here, f"Part {number}", parent=parent, depends_on=[made[need] for need in needs]))
    journal = here.repo / "journal"
    script = f'echo "b $MAESTRO_TASK_IDS" >> {journal}; sleep {seconds}; echo "e $MAESTRO_TASK_IDS" >> {journal}'
    words = ["sh", "-c", script if seconds else script.replace("sleep 0; ", "")]
    body = {
        "project": here.project,
        "task": parent,
        "max_parallel": PARALLEL,
        "path": str(here.repo),
        "arguments": words,
    }
    began = time.perf_counter()
    run = here.post("/api/runs", {**body, "detach": True})
    killer = _killer(here, kills, pause) if kills else None
    while _ends(journal) < len(shape) or (status := _status(here, run["id"])) == "running":
        assert time.perf_counter() - began < _SECONDS_MAX, "the run does not end"
        time.sleep(0.02)
    took = time.perf_counter() - began
    if killer is not None:
        assert not killer.is_alive(), "the run was over before the server was killed so often"
    assert status == "completed", here.get(f"/api/runs/{run['id']}")["note"]
    numbers = {task: number for number, task in enumerate(made)}
    lines = [line.split() for line in journal.read_text().splitlines()]
    return took, [(what, numbers[task]) for what, task in lines]


def _task(here: Yard, title: str, **fields: Any) -> str:
    return str(here.post("/api/tasks", {"project": here.project, "title": title, **fields})["id"])


def _ends(journal: Path) -> int:
    """Return the number of ended tasks. The journal answers, because requests would cost the server time."""
    return journal.read_bytes().count(b"e ") if journal.exists() else 0


def _status(here: Yard, run_id: str) -> str:
    """Return the status of a run, also while the server is down."""
    try:
        return str(here.get(f"/api/runs/{run_id}")["status"])
    except OSError:
        return "running"


def _killer(here: Yard, times: int, pause: float) -> threading.Thread:
    """Start a thread that kills the server repeatedly during the run."""

    def kill() -> None:
        for _ in range(times):
            time.sleep(pause)
            here.live.kill()
            here.live.start()

    thread = threading.Thread(target=kill)
    thread.start()
    return thread


def _pool(shape: Graph, *, seconds: float) -> float:
    """Return the time of the same graph in a bare pool: each task is a program that starts after its dependencies."""
    words = ["sh", "-c", f"sleep {seconds}" if seconds else ":"]
    left = {number: set(needs) for number, needs in enumerate(shape)}
    running: dict[Future[Any], int] = {}
    began = time.perf_counter()
    with ThreadPoolExecutor(PARALLEL) as pool:
        while left or running:
            for number in [number for number, needs in left.items() if not needs]:
                del left[number]
                running[pool.submit(subprocess.run, words, check=True)] = number
            for done in wait(running, return_when=FIRST_COMPLETED).done:
                ended = running.pop(done)
                for needs in left.values():
                    needs.discard(ended)
    return time.perf_counter() - began


def _check(order: list[tuple[str, int]], shape: Graph) -> None:
    assert not _wrong(order, shape), _wrong(order, shape)


def _wrong(order: list[tuple[str, int]], shape: Graph) -> list[str]:
    """Return the tasks that started before their dependencies had ended, more than once, or never."""
    ended: set[int] = set()
    begun: list[int] = []
    wrong = []
    for what, number in order:
        if what == "e":
            ended.add(number)
            continue
        begun.append(number)
        if not set(shape[number]) <= ended:
            wrong.append(f"{number} began too soon")
    counts = [begun.count(number) for number in range(len(shape))]
    return wrong + [f"{number} began {count} times" for number, count in enumerate(counts) if count != 1]
