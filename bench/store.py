"""The store in process: grouped commits, and a graph of a hundred thousand tasks."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import random
import sqlite3
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from bench.report import Figure
from maestro.core import errors
from maestro.domain.callers import person_caller
from maestro.operations import projects, tasks
from maestro.operations.task_shapes import CreateTask, DependTask, ReadyTasks
from maestro.server.app import Server

ME = person_caller("bench")
_keys = itertools.count()


@asynccontextmanager
async def open_server() -> AsyncIterator[tuple[Server, str]]:
    """Yield a server on the same disk as the repository, with the id of a project."""
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".bench-") as folder:
        server = Server(Path(folder))
        init = projects.InitProject(path=folder, name="bench")
        place = await server.call(projects.INIT, init, caller=ME)
        try:
            yield server, place.project.id
        finally:
            await server.close()


async def grouped_commits() -> Figure:
    """Compare 64 callers that wait for their durable writes with commits of single rows by the plain driver."""
    grouped, single = [], []
    async with open_server() as (server, _):
        with contextlib.closing(sqlite3.connect(server.home / "single.db", isolation_level=None)) as plain:
            plain.execute("PRAGMA journal_mode = WAL")
            plain.execute("PRAGMA synchronous = FULL")
            plain.execute("CREATE TABLE rows (id INTEGER PRIMARY KEY, text TEXT)")
            for _ in range(5):
                single.append(_rate_of_single(plain, 400))
                grouped.append(await _rate_of_grouped(server, callers=64, each=100))
    ratio = statistics.median(ours / theirs for ours, theirs in zip(grouped, single, strict=True))
    note = f"{statistics.median(grouped):,.0f}/s grouped, {statistics.median(single):,.0f}/s one by one"
    return Figure(
        "durable writes with 64 callers in process, against single-row commits", ratio, at_least=8, note=note
    )


def _rate_of_single(plain: sqlite3.Connection, count: int) -> float:
    began = time.perf_counter()
    for _ in range(count):
        plain.execute("INSERT INTO rows (text) VALUES ('x')")
    return count / (time.perf_counter() - began)


async def _rate_of_grouped(server: Server, *, callers: int, each: int) -> float:
    """Return the rate of the smallest durable write of Maestro: a further key of a project."""
    project = (await server.store.read(lambda tx: tx.projects.by_name("bench"))).id  # type: ignore[union-attr]

    async def one() -> None:
        for _ in range(each):
            key = f"bench-{next(_keys)}"
            await server.store.write(lambda tx, key=key: tx.projects.add_key(project, key))

    began = time.perf_counter()
    await asyncio.gather(*(one() for _ in range(callers)))
    return callers * each / (time.perf_counter() - began)


Shape = Callable[[int], list[tuple[int, int]]]


def random_graph(size: int) -> list[tuple[int, int]]:
    """Return a graph in which each task waits for two earlier tasks."""
    chance = random.Random(size)
    return [(task, chance.randrange(task)) for task in range(1, size) for _ in range(2)]


def layered_graph(size: int) -> list[tuple[int, int]]:
    """Return a graph with layers of fifty tasks. Each task waits for three tasks of the layer before."""
    chance = random.Random(size)
    return [(task, (task // 50 - 1) * 50 + chance.randrange(50)) for task in range(50, size) for _ in range(3)]


def chain(size: int) -> list[tuple[int, int]]:
    return [(task, task - 1) for task in range(1, size)]


async def fill(server: Server, project: str, edges: list[tuple[int, int]], size: int) -> list[str]:
    """Create the tasks with their dependencies in order, and return their ids."""
    waits_on: dict[int, list[str]] = {}
    for task, on in edges:
        waits_on.setdefault(task, []).append(f"#{on + 1}")
    made: list[str] = []
    for start in range(0, size, 64):
        requests = [
            CreateTask(
                project=project, title=f"Task {number}", depends_on=list(dict.fromkeys(waits_on.get(number, ())))
            )
            for number in range(start, min(start + 64, size))
        ]
        answers = await asyncio.gather(*(server.call(tasks.CREATE, request, caller=ME) for request in requests))
        made += [answer.id for answer in answers]
    return made


async def ready_list() -> Figure:
    """Compare `task ready` in a large graph with a small graph that has the same number of ready tasks."""
    times: dict[int, float] = {}
    for size in (1_000, 100_000):
        async with open_server() as (server, project):
            # A hundred tasks are ready. Every other task waits for one of them.
            edges = [(task, task % 100) for task in range(100, size)]
            await fill(server, project, edges, size)
            request = ReadyTasks(project=project, limit=100)
            assert len((await server.call(tasks.READY, request, caller=ME)).tasks) == 100
            times[size] = await _median(
                lambda server=server, request=request: server.call(tasks.READY, request, caller=ME)
            )
    note = ", ".join(f"{size:,}: {taken * 1000:.2f} ms" for size, taken in times.items())
    ratio = times[100_000] / times[1_000]
    return Figure("`task ready` among 100,000 tasks against 1,000", ratio, at_most=3, note=note)


async def cycle_checks(shapes: dict[str, tuple[Shape, float]]) -> list[Figure]:
    """Compare the addition of an edge, with its check for cycles, in a large and a small graph."""
    figures = []
    for name, (shape, bar) in shapes.items():
        times = {}
        for size in (1_000, 100_000):
            async with open_server() as (server, project):
                made = await fill(server, project, shape(size), size)
                times[size] = await (_chain_edge(server, made) if shape is chain else _random_edges(server, made))
        note = ", ".join(f"{size:,}: {taken * 1000:.2f} ms" for size, taken in times.items())
        ratio = times[100_000] / times[1_000]
        figures.append(
            Figure(f"adding an edge, {name} graph of 100,000 against 1,000", ratio, at_most=bar, note=note)
        )
    return figures


async def _random_edges(server: Server, made: list[str]) -> float:
    """Add edges between random tasks in both directions, and return the mean time. About half need a search."""
    chance = random.Random(7)
    taken = []
    for _ in range(300):
        task, on = chance.sample(made, 2)
        began = time.perf_counter()
        with contextlib.suppress(errors.Cycle):
            await server.call(tasks.DEPEND, DependTask(id=task, on=[on]), caller=ME)
        taken.append(time.perf_counter() - began)
    return statistics.mean(taken)


async def _chain_edge(server: Server, made: list[str]) -> float:
    """Add the edge that would close the chain: the server refuses it and names at most twenty tasks of the cycle."""
    taken = []
    for _ in range(5):
        began = time.perf_counter()
        try:
            await server.call(tasks.DEPEND, DependTask(id=made[0], on=[made[-1]]), caller=ME)
        except errors.Cycle as refused:
            assert len(refused.data["cycle"]) <= 22
        else:
            raise AssertionError("the chain was closed")
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)


async def _median(work: Callable[[], object], rounds: int = 50) -> float:
    taken = []
    for _ in range(rounds):
        began = time.perf_counter()
        await work()  # type: ignore[misc]
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)
