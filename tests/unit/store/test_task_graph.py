"""Ranks in the database: edges come in at random, with no room between the ranks to begin with."""

from __future__ import annotations

import contextlib
import random
import sqlite3

import pytest

from maestro.domain.graph import CycleFound, NoFreeRanks
from maestro.domain.projects import Project
from maestro.store.base import Repositories
from maestro.store.sqlite.connection import SqliteRows
from maestro.store.sqlite.steps import migration_scripts
from maestro.testing.clock import FakeClock
from maestro.testing.factories import make_task

COUNT = 40
PROJECT = Project("prj_00000000000000000000000000", "example.org/vc", "vc", [], FakeClock().now())


@pytest.fixture
def database() -> sqlite3.Connection:
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        for script in migration_scripts():
            connection.executescript(script)
        yield connection


@pytest.fixture
def tables(database: sqlite3.Connection) -> Repositories:
    """A project whose tasks stand side by side in rank."""
    tables = Repositories(SqliteRows(database))
    tables.projects.insert(PROJECT)
    for number in range(COUNT):
        tables.tasks.insert(make_task(id=name(number), project_id=PROJECT.id, number=number + 1))
        database.execute("UPDATE tasks SET rank = ? WHERE id = ?", (number, name(number)))
    return tables


def name(number: int) -> str:
    return f"tsk_{number:026}"


def reaches(edges: set[tuple[str, str]], start: str, goal: str) -> bool:
    seen, waiting = {start}, [start]
    while waiting:
        here = waiting.pop()
        if here == goal:
            return True
        fresh = {below for above, below in edges if above == here} - seen
        seen |= fresh
        waiting.extend(fresh)
    return False


@pytest.mark.parametrize("seed", range(15))
def test_exactly_the_edges_that_close_no_cycle_get_in(
    database: sqlite3.Connection, tables: Repositories, seed: int
) -> None:
    """Dependencies, and parents that wait on their children, in one graph."""
    dice = random.Random(seed)
    edges: set[tuple[str, str]] = set()
    for _ in range(150):
        waiter, blocker = name(dice.randrange(COUNT)), name(dice.randrange(COUNT))
        has_parent = database.execute("SELECT parent_id FROM tasks WHERE id = ?", (blocker,)).fetchone() != (None,)
        closes = reaches(edges, blocker, waiter)
        try:
            tables.tasks.graph.adjust_ranks(waiter, blocker)
        except CycleFound:
            assert closes
            continue
        assert not closes
        if dice.random() < 0.3 and not has_parent:
            database.execute("UPDATE tasks SET parent_id = ? WHERE id = ?", (waiter, blocker))
        else:
            tables.tasks.graph.add_edge(waiter, blocker)
        edges.add((waiter, blocker))
        ranks = dict(database.execute("SELECT id, rank FROM tasks"))
        assert all(ranks[below] < ranks[above] for above, below in edges)
        assert len(set(ranks.values())) == COUNT


def test_where_there_is_no_room_all_ranks_are_spread_in_their_order(
    database: sqlite3.Connection, tables: Repositories
) -> None:
    tables.tasks.graph.adjust_ranks(name(1), name(0))
    tables.tasks.graph.add_edge(name(1), name(0))
    before = [row[0] for row in database.execute("SELECT id FROM tasks ORDER BY rank") if row[0] != name(1)]
    with pytest.raises(NoFreeRanks):
        tables.tasks.graph._new_ranks(name(1), name(2))
    tables.tasks.graph.adjust_ranks(name(1), name(2))
    ranks = [row[0] for row in database.execute("SELECT rank FROM tasks ORDER BY rank")]
    assert min(above - below for below, above in zip(ranks, ranks[1:], strict=False)) > COUNT
    after = [row[0] for row in database.execute("SELECT id FROM tasks ORDER BY rank") if row[0] != name(1)]
    assert after == before
