"""Keeps the graph of waiting free of cycles without walking all of it.

Every task has a rank, and whatever a task waits on has a lower one. An edge that agrees with the ranks cannot
close a cycle and costs nothing to add. One that disagrees is searched from both ends at once, only between the
two ranks; then the side that was exhausted first, mostly a handful of tasks, is moved past the other end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

RANK_STEP = 1 << 36
# New labels take this share of a gap, so that many insertions at one place fit before ranks must be spread anew.
_GAP_SHARE = 64
# How far the upper search runs ahead: lifting a few tasks to the top takes no room from anyone.
_HEAD_START = 8


class Ranked(msgspec.Struct, frozen=True):
    """A task's id with its rank."""

    id: str
    rank: int


class Graph(Protocol):
    """The edges as they are stored."""

    def waits_on(self, task_id: str) -> Sequence[Ranked]: ...

    def waited_on_by(self, task_id: str) -> Sequence[Ranked]: ...

    def next_above(self, rank: int) -> int | None: ...

    def next_below(self, rank: int) -> int | None: ...


class CycleFound(Exception):
    """The new edge would close a cycle; `path` starts and ends at the waiter."""

    def __init__(self, path: list[str]) -> None:
        self.path = path
        super().__init__(" → ".join(path))


class NoRoom(Exception):
    """No free ranks at the place: spread them all anew and ask again."""


def new_ranks(graph: Graph, *, waiter: Ranked, blocker: Ranked) -> list[Ranked]:
    """The ranks to change so that `waiter` may wait on `blocker`: mostly none."""
    if waiter.id == blocker.id:
        raise CycleFound([waiter.id, waiter.id])
    if blocker.rank < waiter.rank:
        return []
    upper = _Search(graph.waited_on_by, waiter, low=waiter.rank, high=blocker.rank)
    lower = _Search(graph.waits_on, blocker, low=waiter.rank, high=blocker.rank)
    side = _exhaust_one(upper, lower)
    if side is upper:
        return _lift(graph, upper, above=blocker.rank)
    return _sink(graph, lower, below=waiter.rank)


class _Search:
    """One end's walk, kept between the two ranks."""

    def __init__(self, step: _Step, start: Ranked, *, low: int, high: int) -> None:
        self._step = step
        self._low, self._high = low, high
        self.came_from: dict[str, str | None] = {start.id: None}
        self.found = [start]
        self.frontier = [start]

    def expand(self, other: _Search) -> str | None:
        """Take one step; the id where both walks met, if they did."""
        here = self.frontier.pop()
        for near in self._step(here.id):
            if near.id in self.came_from or not self._low <= near.rank <= self._high:
                continue
            self.came_from[near.id] = here.id
            if near.id in other.came_from:
                return near.id
            self.found.append(near)
            self.frontier.append(near)
        return None

    def trail(self, task_id: str) -> list[str]:
        """From `task_id` back to where this walk began."""
        path = [task_id]
        while (previous := self.came_from[path[-1]]) is not None:
            path.append(previous)
        return path


class _Step(Protocol):
    def __call__(self, task_id: str, /) -> Sequence[Ranked]: ...


def _exhaust_one(upper: _Search, lower: _Search) -> _Search:
    """Walk from both ends, the smaller frontier first, until one has nothing left to visit."""
    while upper.frontier and lower.frontier:
        ahead = len(upper.found) <= _HEAD_START or len(upper.frontier) <= len(lower.frontier)
        here, there = (upper, lower) if ahead else (lower, upper)
        met = here.expand(there)
        if met is not None:
            down = lower.trail(met)[::-1]  # blocker … met
            up = upper.trail(met)[1:]  # … waiter
            raise CycleFound([up[-1] if up else met, *down, *up])
    return lower if upper.frontier else upper


def _lift(graph: Graph, side: _Search, *, above: int) -> list[Ranked]:
    moved = sorted(side.found, key=lambda ranked: ranked.rank)
    ceiling = graph.next_above(above)
    if ceiling is None:
        return [Ranked(task.id, above + RANK_STEP * (place + 1)) for place, task in enumerate(moved)]
    step = _step_within(ceiling - above, len(moved))
    first = ceiling - step * len(moved)
    return [Ranked(task.id, first + step * place) for place, task in enumerate(moved)]


def _sink(graph: Graph, side: _Search, *, below: int) -> list[Ranked]:
    moved = sorted(side.found, key=lambda ranked: ranked.rank)
    floor = graph.next_below(below)
    if floor is None:
        first = below - RANK_STEP * len(moved)
        return [Ranked(task.id, first + RANK_STEP * place) for place, task in enumerate(moved)]
    step = _step_within(below - floor, len(moved))
    return [Ranked(task.id, floor + step * (place + 1)) for place, task in enumerate(moved)]


def _step_within(gap: int, count: int) -> int:
    """Room for `count` labels strictly inside a gap, near one edge of it."""
    if gap <= count:
        raise NoRoom
    return max(1, min(gap // (count + 1), gap // (_GAP_SHARE * count)))
