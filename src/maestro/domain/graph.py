"""Keep the graph of task dependencies free of cycles without a walk over the whole graph.

Every task has a rank. A task's rank is higher than the rank of every task that it waits on. A new edge that agrees
with the ranks cannot close a cycle and costs nothing. For an edge that disagrees, two searches run from both ends,
only between the two ranks. The tasks of the search that ends first, mostly a handful, get ranks beyond the other end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

RANK_STEP = 1 << 36
# New ranks take this share of a gap. Many insertions into the same gap fit before all ranks must be spread again.
_GAP_SHARE = 64
# The upper search visits this many tasks first, because ranks above all tasks use up no gap.
_HEAD_START = 8


class RankedTask(msgspec.Struct, frozen=True):
    """A task's id with its rank."""

    id: str
    rank: int


class DependencyGraph(Protocol):
    """The stored edges and ranks of tasks."""

    def waits_on(self, task_id: str) -> Sequence[RankedTask]: ...

    def waited_on_by(self, task_id: str) -> Sequence[RankedTask]: ...

    def next_above(self, rank: int) -> int | None: ...

    def next_below(self, rank: int) -> int | None: ...


class CycleFound(Exception):
    """The new edge would close a cycle; `path` starts and ends at the waiter."""

    def __init__(self, path: list[str]) -> None:
        self.path = path
        super().__init__(" → ".join(path))


class NoFreeRanks(Exception):
    """The gap has too few free ranks. The caller spreads all ranks and tries again."""


def new_ranks(graph: DependencyGraph, *, waiter: RankedTask, blocker: RankedTask) -> list[RankedTask]:
    """Return the new ranks with which `waiter` may wait on `blocker`; mostly none change."""
    if waiter.id == blocker.id:
        raise CycleFound([waiter.id, waiter.id])
    if blocker.rank < waiter.rank:
        return []
    upper = _Search(graph.waited_on_by, waiter, low=waiter.rank, high=blocker.rank)
    lower = _Search(graph.waits_on, blocker, low=waiter.rank, high=blocker.rank)
    if _search_both(upper, lower) is upper:
        return _raise_ranks(graph, upper, above=blocker.rank)
    return _lower_ranks(graph, lower, below=waiter.rank)


class _Search:
    """The search from one end of a new edge, limited to tasks between the two ranks."""

    def __init__(self, neighbours: _Neighbours, start: RankedTask, *, low: int, high: int) -> None:
        self._neighbours = neighbours
        self._low, self._high = low, high
        self.came_from: dict[str, str | None] = {start.id: None}
        self.found = [start]
        self.frontier = [start]

    def visit_next(self, other: _Search) -> str | None:
        """Visit the next task; return the id of a task that both searches have found, else None."""
        task = self.frontier.pop()
        for neighbour in self._neighbours(task.id):
            if neighbour.id in self.came_from or not self._low <= neighbour.rank <= self._high:
                continue
            self.came_from[neighbour.id] = task.id
            if neighbour.id in other.came_from:
                return neighbour.id
            self.found.append(neighbour)
            self.frontier.append(neighbour)
        return None

    def path_to_start(self, task_id: str) -> list[str]:
        """Return the ids from `task_id` back to the first task of the search."""
        path = [task_id]
        while (previous := self.came_from[path[-1]]) is not None:
            path.append(previous)
        return path


class _Neighbours(Protocol):
    def __call__(self, task_id: str, /) -> Sequence[RankedTask]: ...


def _search_both(upper: _Search, lower: _Search) -> _Search:
    """Return the search that ends first. The search with the smaller frontier visits the next task."""
    while upper.frontier and lower.frontier:
        is_upper_next = len(upper.found) <= _HEAD_START or len(upper.frontier) <= len(lower.frontier)
        search, other = (upper, lower) if is_upper_next else (lower, upper)
        shared_id = search.visit_next(other)
        if shared_id is not None:
            down = lower.path_to_start(shared_id)[::-1]  # blocker … shared task
            up = upper.path_to_start(shared_id)[1:]  # … waiter
            raise CycleFound([up[-1] if up else shared_id, *down, *up])
    return lower if upper.frontier else upper


def _raise_ranks(graph: DependencyGraph, search: _Search, *, above: int) -> list[RankedTask]:
    tasks = sorted(search.found, key=lambda ranked: ranked.rank)
    ceiling = graph.next_above(above)
    if ceiling is None:
        return [RankedTask(task.id, above + RANK_STEP * (index + 1)) for index, task in enumerate(tasks)]
    step = _step_within(ceiling - above, len(tasks))
    first = ceiling - step * len(tasks)
    return [RankedTask(task.id, first + step * index) for index, task in enumerate(tasks)]


def _lower_ranks(graph: DependencyGraph, search: _Search, *, below: int) -> list[RankedTask]:
    tasks = sorted(search.found, key=lambda ranked: ranked.rank)
    floor = graph.next_below(below)
    if floor is None:
        first = below - RANK_STEP * len(tasks)
        return [RankedTask(task.id, first + RANK_STEP * index) for index, task in enumerate(tasks)]
    step = _step_within(below - floor, len(tasks))
    return [RankedTask(task.id, floor + step * (index + 1)) for index, task in enumerate(tasks)]


def _step_within(gap: int, count: int) -> int:
    """Return the distance between `count` new ranks strictly inside a gap, near one end of the gap."""
    if gap <= count:
        raise NoFreeRanks
    return max(1, min(gap // (count + 1), gap // (_GAP_SHARE * count)))
