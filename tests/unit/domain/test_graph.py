"""The ranks of tasks accept exactly the edges for which a full search finds no cycle."""

from __future__ import annotations

import random
from collections import defaultdict

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from maestro.domain import graph
from maestro.domain.graph import RANK_STEP, CycleFound, NoFreeRanks, RankedTask

Edges = list[tuple[int, int]]


class MemoryGraph:
    """A task graph in dictionaries, with the protocol of the store's graph."""

    def __init__(self, count: int, *, spread_step: int = RANK_STEP) -> None:
        # Adjacent ranks: already the first edge against the order of the ranks finds no free rank.
        self.ranks = {str(number): number for number in range(count)}
        self.down: dict[str, set[str]] = defaultdict(set)
        self.up: dict[str, set[str]] = defaultdict(set)
        self.spread_step = spread_step
        self.spreads = 0

    def waits_on(self, task_id: str) -> list[RankedTask]:
        return [self.ranked(other) for other in sorted(self.down[task_id])]

    def waited_on_by(self, task_id: str) -> list[RankedTask]:
        return [self.ranked(other) for other in sorted(self.up[task_id])]

    def next_above(self, rank: int) -> int | None:
        return min((other for other in self.ranks.values() if other > rank), default=None)

    def next_below(self, rank: int) -> int | None:
        return max((other for other in self.ranks.values() if other < rank), default=None)

    def ranked(self, task_id: str) -> RankedTask:
        return RankedTask(task_id, self.ranks[task_id])

    def new_ranks(self, waiter: str, blocker: str) -> list[RankedTask]:
        return graph.new_ranks(self, waiter=self.ranked(waiter), blocker=self.ranked(blocker))

    def add(self, waiter: str, blocker: str) -> None:
        """Add an edge as the store does: if no rank is free, spread the ranks once and try again."""
        try:
            moved = self.new_ranks(waiter, blocker)
        except NoFreeRanks:
            self.spread()
            moved = self.new_ranks(waiter, blocker)
        self.ranks.update({task.id: task.rank for task in moved})
        self.down[waiter].add(blocker)
        self.up[blocker].add(waiter)

    def spread(self) -> None:
        self.spreads += 1
        in_order = sorted(self.ranks, key=lambda task_id: self.ranks[task_id])
        self.ranks = {task_id: (place + 1) * self.spread_step for place, task_id in enumerate(in_order)}

    def reaches(self, start: str, goal: str) -> bool:
        """Return whether a full search without ranks finds a path. The tests compare the ranks with this result."""
        seen, waiting = {start}, [start]
        while waiting:
            here = waiting.pop()
            if here == goal:
                return True
            fresh = self.down[here] - seen
            seen |= fresh
            waiting.extend(fresh)
        return False

    def assert_ranks_respect_edges(self) -> None:
        for waiter, blockers in self.down.items():
            for blocker in blockers:
                assert self.ranks[blocker] < self.ranks[waiter], f"{waiter} waits on {blocker}"
        assert len(set(self.ranks.values())) == len(self.ranks), "Two tasks have the same rank."


@st.composite
def edge_lists(draw: st.DrawFn) -> tuple[int, Edges]:
    count = draw(st.integers(1, 14))
    node = st.integers(0, count - 1)
    return count, draw(st.lists(st.tuples(node, node), max_size=60))


# The narrow step has just enough ranks for all tasks in one gap, so that free ranks run out often.
@given(edge_lists(), st.sampled_from(["narrow", "real"]))
@example((3, [(0, 1), (1, 2), (2, 0)]), "narrow")
@example((2, [(0, 1), (1, 0), (0, 0)]), "real")
@settings(max_examples=400, derandomize=True, deadline=None)
def test_an_edge_is_accepted_exactly_if_it_closes_no_cycle(given_edges: tuple[int, Edges], step: str) -> None:
    count, edges = given_edges
    tasks = MemoryGraph(count, spread_step=count + 2 if step == "narrow" else RANK_STEP)
    for waiter, blocker in ((str(a), str(b)) for a, b in edges):
        closes = tasks.reaches(blocker, waiter)
        before = dict(tasks.ranks)
        try:
            tasks.add(waiter, blocker)
        except CycleFound as found:
            assert closes, f"The edge {waiter} → {blocker} was refused, but closes no cycle."
            assert_is_the_cycle(tasks, found.path, waiter, blocker)
            assert tasks.spreads or tasks.ranks == before, "A refused edge changed the ranks."
        else:
            assert not closes, f"The edge {waiter} → {blocker} closes a cycle, but was accepted."
        tasks.assert_ranks_respect_edges()


@pytest.mark.parametrize("seed", range(30))
def test_an_edge_of_a_large_graph_is_accepted_exactly_if_it_closes_no_cycle(seed: int) -> None:
    """Check graphs in which many tasks wait on each task: there the search from the blocker often ends first."""
    dice = random.Random(seed)
    count = 60
    tasks = MemoryGraph(count, spread_step=count + 2)
    for _ in range(250):
        waiter, blocker = str(dice.randrange(count)), str(dice.randrange(count))
        closes = tasks.reaches(blocker, waiter)
        try:
            tasks.add(waiter, blocker)
        except CycleFound as found:
            assert closes
            assert_is_the_cycle(tasks, found.path, waiter, blocker)
        else:
            assert not closes
        tasks.assert_ranks_respect_edges()


@pytest.mark.parametrize("waiting", [20, 200])
def test_the_smaller_side_of_a_new_edge_gets_the_new_ranks(waiting: int) -> None:
    """Check an edge from a task with many waiting tasks to a task without edges: only the latter gets a new rank."""
    tasks = MemoryGraph(waiting + 2)
    tasks.spread()
    for number in range(1, waiting + 1):
        tasks.add(str(number), "0")
    last = str(waiting + 1)
    (moved,) = tasks.new_ranks("0", last)
    assert moved.id == last and moved.rank < tasks.ranks["0"]


def assert_is_the_cycle(tasks: MemoryGraph, path: list[str], waiter: str, blocker: str) -> None:
    """Check that the path is a cycle: the refused edge first, then existing edges back to the waiter."""
    assert path[0] == path[-1] == waiter
    assert path[1] == blocker
    assert len(set(path[1:])) == len(path) - 1, "The cycle names a task twice."
    for here, there in zip(path[1:], path[2:], strict=False):
        assert there in tasks.down[here], f"{here} does not wait on {there}"


# The store removes edges and tasks without new ranks: the ranks must stay valid, not minimal.
@given(edge_lists(), st.lists(st.integers(0, 59), max_size=20))
@settings(max_examples=150, derandomize=True, deadline=None)
def test_edges_are_accepted_correctly_after_other_edges_were_removed(
    given_edges: tuple[int, Edges], removals: list[int]
) -> None:
    count, edges = given_edges
    tasks = MemoryGraph(count, spread_step=count + 2)
    for place, (waiter, blocker) in enumerate((str(a), str(b)) for a, b in edges):
        if place in removals and (present := [(a, b) for a, below in tasks.down.items() for b in below]):
            a, b = min(present)
            tasks.down[a].discard(b)
            tasks.up[b].discard(a)
        closes = tasks.reaches(blocker, waiter)
        try:
            tasks.add(waiter, blocker)
        except CycleFound:
            assert closes
        else:
            assert not closes
        tasks.assert_ranks_respect_edges()


def test_a_missing_free_rank_is_reported_and_one_spread_provides_free_ranks() -> None:
    tasks = MemoryGraph(4)
    tasks.down["1"].add("0")
    tasks.up["0"].add("1")
    with pytest.raises(NoFreeRanks):  # task 1 needs a rank between the ranks of 2 and 3
        tasks.new_ranks("1", "2")
    tasks.add("1", "2")
    assert tasks.spreads == 1
    tasks.assert_ranks_respect_edges()


@pytest.mark.parametrize("count", [1, 2, 40])
def test_a_spread_provides_free_ranks_for_a_whole_chain_of_waiting_tasks(count: int) -> None:
    """Check that all tasks that wait on the waiter get new ranks in the same gap and keep their order."""
    tasks = MemoryGraph(2 * count + 2)
    chain = [str(number) for number in range(count)]
    for below, above in zip(chain, chain[1:], strict=False):
        tasks.add(above, below)
    tasks.add("0", str(count))
    tasks.assert_ranks_respect_edges()
    assert sorted(chain, key=lambda task_id: tasks.ranks[task_id]) == chain


def test_an_edge_that_agrees_with_the_ranks_reads_no_other_edge() -> None:
    class Untouchable(MemoryGraph):
        def waits_on(self, task_id: str) -> list[RankedTask]:
            raise AssertionError("nobody needs to look")

        waited_on_by = waits_on

    assert Untouchable(5).new_ranks("4", "0") == []


def test_many_edges_into_the_same_gap_rarely_need_a_spread() -> None:
    """Check the worst case for gaps: the first task waits on each new task, which has the highest rank."""
    tasks = MemoryGraph(1)
    tasks.spread()
    for number in range(1, 300):
        tasks.ranks[str(number)] = max(tasks.ranks.values()) + RANK_STEP
        tasks.add("0", str(number))
    assert tasks.spreads <= 1 + 300 // 4
    tasks.assert_ranks_respect_edges()


def test_a_long_chain_is_searched_without_recursion() -> None:
    count = 5000
    tasks = MemoryGraph(count)
    tasks.spread()
    for number in range(1, count):
        tasks.down[str(number)].add(str(number - 1))
        tasks.up[str(number - 1)].add(str(number))
    with pytest.raises(CycleFound) as found:
        tasks.new_ranks("0", str(count - 1))
    assert len(found.value.path) == count + 1
