"""Edges come in at random; what a full search says of each is what the ranks must say too."""

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
    """The edges in dictionaries, with the same protocol as the store's."""

    def __init__(self, count: int, *, spread_step: int = RANK_STEP) -> None:
        # Side by side: the first edge against the ranks already finds no room.
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
        """As the store does it: spread the ranks once if there is no room, and ask again."""
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
        """The oracle: a full search that knows nothing of ranks."""
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
        assert len(set(self.ranks.values())) == len(self.ranks), "two tasks share a rank"


@st.composite
def edge_lists(draw: st.DrawFn) -> tuple[int, Edges]:
    count = draw(st.integers(1, 14))
    node = st.integers(0, count - 1)
    return count, draw(st.lists(st.tuples(node, node), max_size=60))


# A step just wide enough for all tasks in one gap, so that room runs out again and again; and the real one.
@given(edge_lists(), st.sampled_from(["narrow", "real"]))
@example((3, [(0, 1), (1, 2), (2, 0)]), "narrow")
@example((2, [(0, 1), (1, 0), (0, 0)]), "real")
@settings(max_examples=400, derandomize=True, deadline=None)
def test_exactly_the_edges_that_close_no_cycle_get_in(given_edges: tuple[int, Edges], step: str) -> None:
    count, edges = given_edges
    tasks = MemoryGraph(count, spread_step=count + 2 if step == "narrow" else RANK_STEP)
    for waiter, blocker in ((str(a), str(b)) for a, b in edges):
        closes = tasks.reaches(blocker, waiter)
        before = dict(tasks.ranks)
        try:
            tasks.add(waiter, blocker)
        except CycleFound as found:
            assert closes, f"{waiter} → {blocker} was refused, but closes no cycle"
            assert_is_the_cycle(tasks, found.path, waiter, blocker)
            assert tasks.spreads or tasks.ranks == before, "a refused edge changes nothing"
        else:
            assert not closes, f"{waiter} → {blocker} closes a cycle and got in"
        tasks.assert_ranks_respect_edges()


@pytest.mark.parametrize("seed", range(30))
def test_the_same_in_graphs_too_large_to_walk_from_one_end_only(seed: int) -> None:
    """Many tasks wait on each, so that the search from below is the first to end."""
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
def test_of_two_ends_the_smaller_one_moves(waiting: int) -> None:
    """A task that many wait on comes to wait on one that waits on nothing: that one moves, not the many."""
    tasks = MemoryGraph(waiting + 2)
    tasks.spread()
    for number in range(1, waiting + 1):
        tasks.add(str(number), "0")
    last = str(waiting + 1)
    (moved,) = tasks.new_ranks("0", last)
    assert moved.id == last and moved.rank < tasks.ranks["0"]


def assert_is_the_cycle(tasks: MemoryGraph, path: list[str], waiter: str, blocker: str) -> None:
    """A walk from the waiter back to itself whose first step is the refused edge and whose others are there."""
    assert path[0] == path[-1] == waiter
    assert path[1] == blocker
    assert len(set(path[1:])) == len(path) - 1, "a cycle names nobody twice"
    for here, there in zip(path[1:], path[2:], strict=False):
        assert there in tasks.down[here], f"{here} does not wait on {there}"


# The store lets edges and tasks go again: the ranks need not be the tightest, only right.
@given(edge_lists(), st.lists(st.integers(0, 59), max_size=20))
@settings(max_examples=150, derandomize=True, deadline=None)
def test_edges_may_go_again_in_between(given_edges: tuple[int, Edges], removals: list[int]) -> None:
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


def test_no_room_is_said_and_one_spread_makes_it() -> None:
    tasks = MemoryGraph(4)
    tasks.down["1"].add("0")
    tasks.up["0"].add("1")
    with pytest.raises(NoFreeRanks):  # 1 must go between 2 and 3
        tasks.new_ranks("1", "2")
    tasks.add("1", "2")
    assert tasks.spreads == 1
    tasks.assert_ranks_respect_edges()


@pytest.mark.parametrize("count", [1, 2, 40])
def test_a_spread_leaves_room_for_everything_that_moves(count: int) -> None:
    """Whatever waits on the waiter moves with it, in its order, into the one gap."""
    tasks = MemoryGraph(2 * count + 2)
    chain = [str(number) for number in range(count)]
    for below, above in zip(chain, chain[1:], strict=False):
        tasks.add(above, below)
    tasks.add("0", str(count))
    tasks.assert_ranks_respect_edges()
    assert sorted(chain, key=lambda task_id: tasks.ranks[task_id]) == chain


def test_an_edge_that_agrees_with_the_ranks_looks_at_nothing() -> None:
    class Untouchable(MemoryGraph):
        def waits_on(self, task_id: str) -> list[RankedTask]:
            raise AssertionError("nobody needs to look")

        waited_on_by = waits_on

    assert Untouchable(5).new_ranks("4", "0") == []


def test_many_edges_at_one_place_rarely_need_a_spread() -> None:
    """Each new task at the top comes to be waited on by the first one: the worst case for gaps."""
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
