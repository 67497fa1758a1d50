"""The edges between tasks, and the ranks that keep the edges free of cycles."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from maestro.domain import graph
from maestro.domain.graph import RankedTask
from maestro.domain.tasks import TaskStatus
from maestro.store.decoding import Decoder
from maestro.store.rows import Rows


class _Edge(NamedTuple):
    """A dependency of a task: the reference and the status of the task that is waited on."""

    task_id: str
    ref: str
    status: TaskStatus


_EDGE = Decoder(_Edge)
_RANKED_TASK = Decoder(RankedTask)


class TaskGraph:
    """The graph of tasks that wait on other tasks."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def adjust_ranks(self, waiter_id: str, blocker_id: str) -> None:
        """Change ranks so that they allow an edge. Raise `graph.CycleFound` if the edge would close a cycle."""
        try:
            ranked_tasks = self._new_ranks(waiter_id, blocker_id)
        except graph.NoFreeRanks:
            self._rows.execute("ranks_spread", step=graph.RANK_STEP)
            ranked_tasks = self._new_ranks(waiter_id, blocker_id)
        for task in ranked_tasks:
            self._rows.execute("rank_set", id=task.id, rank=task.rank)

    def add_edge(self, task_id: str, depends_on_id: str) -> bool:
        """Add an edge; return whether the edge is new."""
        return self._rows.execute("edge_insert", task_id=task_id, depends_on_id=depends_on_id) == 1

    def remove_edge(self, task_id: str, depends_on_id: str) -> bool:
        """Remove an edge; return whether the edge existed."""
        return self._rows.execute("edge_delete", task_id=task_id, depends_on_id=depends_on_id) == 1

    def count_dependencies(self, task_id: str) -> int:
        return int(self._rows.fetch_value("edge_count", task_id=task_id))

    def dependencies_of(self, task_ids: Sequence[str]) -> dict[str, list[tuple[str, TaskStatus]]]:
        """Return the dependencies of several tasks, by task id: reference and status of each dependency."""
        dependencies: dict[str, list[tuple[str, TaskStatus]]] = {}
        for edge in self._rows.fetch_all("edges_of", _EDGE, ids=json.dumps(list(task_ids))):
            dependencies.setdefault(edge.task_id, []).append((edge.ref, edge.status))
        return dependencies

    def shift_open_blockers(self, task_id: str, by: int) -> None:
        """Add `by` to the number of open blockers of a task."""
        self._rows.execute("blockers_shift_one", id=task_id, by=by)

    def waits_on(self, task_id: str) -> list[RankedTask]:
        return self._rows.fetch_all("waits_on", _RANKED_TASK, id=task_id)

    def waited_on_by(self, task_id: str) -> list[RankedTask]:
        return self._rows.fetch_all("waited_on_by", _RANKED_TASK, id=task_id)

    def next_above(self, rank: int) -> int | None:
        next_rank: int | None = self._rows.fetch_value("rank_next_above", rank=rank)
        return next_rank

    def next_below(self, rank: int) -> int | None:
        next_rank: int | None = self._rows.fetch_value("rank_next_below", rank=rank)
        return next_rank

    def _new_ranks(self, waiter_id: str, blocker_id: str) -> list[RankedTask]:
        return graph.new_ranks(self, waiter=self._ranked_task(waiter_id), blocker=self._ranked_task(blocker_id))

    def _ranked_task(self, task_id: str) -> RankedTask:
        task = self._rows.fetch_first("rank_of", _RANKED_TASK, id=task_id)
        assert task is not None
        return task
