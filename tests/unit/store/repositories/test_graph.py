"""The repository accepts exactly the dependencies without a cycle, and spreads ranks that have no gaps."""

from __future__ import annotations

import random
import sqlite3

import pytest

from maestro.domain.graph import CycleFound, NoFreeRanks
from maestro.store.base import Repositories
from maestro.testing.factories import make_task

COUNT = 40
VC = "prj_00000000000000000000000000"


@pytest.fixture
def repositories(database: sqlite3.Connection, repositories: Repositories) -> Repositories:
    """Return repositories with tasks of consecutive ranks."""
    for number in range(COUNT):
        repositories.tasks.insert(make_task(id=task_id(number), project_id=VC, number=number + 1))
        database.execute("UPDATE tasks SET rank = ? WHERE id = ?", (number, task_id(number)))
    return repositories


def task_id(number: int) -> str:
    return f"tsk_{number:026}"


def reaches(edges: set[tuple[str, str]], start: str, goal: str) -> bool:
    """Return whether edges lead from a task to another task."""
    seen, waiting = {start}, [start]
    while waiting:
        task = waiting.pop()
        if task == goal:
            return True
        fresh = {below for above, below in edges if above == task} - seen
        seen |= fresh
        waiting.extend(fresh)
    return False


@pytest.mark.parametrize("seed", range(15))
def test_a_dependency_is_accepted_exactly_if_it_closes_no_cycle(
    database: sqlite3.Connection, repositories: Repositories, seed: int
) -> None:
    """Check a graph of dependencies and of parents, which wait on their children."""
    generator = random.Random(seed)
    edges: set[tuple[str, str]] = set()
    for _ in range(150):
        waiter, blocker = task_id(generator.randrange(COUNT)), task_id(generator.randrange(COUNT))
        has_parent = database.execute("SELECT parent_id FROM tasks WHERE id = ?", (blocker,)).fetchone() != (None,)
        closes = reaches(edges, blocker, waiter)
        try:
            repositories.tasks.graph.adjust_ranks(waiter, blocker)
        except CycleFound:
            assert closes
            continue
        assert not closes
        if generator.random() < 0.3 and not has_parent:
            database.execute("UPDATE tasks SET parent_id = ? WHERE id = ?", (waiter, blocker))
        else:
            repositories.tasks.graph.add_edge(waiter, blocker)
        edges.add((waiter, blocker))
        ranks = dict(database.execute("SELECT id, rank FROM tasks"))
        assert all(ranks[below] < ranks[above] for above, below in edges)
        assert len(set(ranks.values())) == COUNT


def test_ranks_without_gaps_are_spread_and_keep_their_order(
    database: sqlite3.Connection, repositories: Repositories
) -> None:
    repositories.tasks.graph.adjust_ranks(task_id(1), task_id(0))
    repositories.tasks.graph.add_edge(task_id(1), task_id(0))
    before = [row[0] for row in database.execute("SELECT id FROM tasks ORDER BY rank") if row[0] != task_id(1)]
    with pytest.raises(NoFreeRanks):
        repositories.tasks.graph._new_ranks(task_id(1), task_id(2))
    repositories.tasks.graph.adjust_ranks(task_id(1), task_id(2))
    ranks = [row[0] for row in database.execute("SELECT rank FROM tasks ORDER BY rank")]
    assert min(above - below for below, above in zip(ranks, ranks[1:], strict=False)) > COUNT
    after = [row[0] for row in database.execute("SELECT id FROM tasks ORDER BY rank") if row[0] != task_id(1)]
    assert after == before
