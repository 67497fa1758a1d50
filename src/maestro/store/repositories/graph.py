"""The edges between tasks, and the ranks that keep the edges free of cycles."""

from __future__ import annotations

import json
from collections.abc import Sequence

from maestro.domain import graph
from maestro.domain.graph import Ranked
from maestro.domain.tasks import Status
from maestro.store.rows import Rows


class TaskGraph:
    """The graph of tasks that wait on other tasks."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def make_room(self, waiter_id: str, blocker_id: str) -> None:
        """Change ranks so that they allow an edge. Raise `graph.CycleFound` if the edge would close a cycle."""
        try:
            ranked_tasks = self._new_ranks(waiter_id, blocker_id)
        except graph.NoRoom:
            self._rows.run("ranks_spread", step=graph.RANK_STEP)
            ranked_tasks = self._new_ranks(waiter_id, blocker_id)
        for task in ranked_tasks:
            self._rows.run("rank_set", id=task.id, rank=task.rank)

    def add(self, task_id: str, depends_on_id: str) -> bool:
        """Add an edge; return whether the edge is new."""
        return self._rows.run("edge_insert", task_id=task_id, depends_on_id=depends_on_id) == 1

    def remove(self, task_id: str, depends_on_id: str) -> bool:
        """Remove an edge; return whether the edge existed."""
        return self._rows.run("edge_delete", task_id=task_id, depends_on_id=depends_on_id) == 1

    def count(self, task_id: str) -> int:
        row = self._rows.one("edge_count", task_id=task_id)
        return int(row[0]) if row else 0

    def edges(self, task_ids: Sequence[str]) -> dict[str, list[tuple[str, Status]]]:
        """Return the dependencies of several tasks, by task id: reference and status of each dependency."""
        dependencies: dict[str, list[tuple[str, Status]]] = {}
        for task_id, project, number, status in self._rows.all("edges_of", ids=json.dumps(list(task_ids))):
            dependencies.setdefault(task_id, []).append((f"{project}#{number}", Status(status)))
        return dependencies

    def shift_open(self, task_id: str, by: int) -> None:
        """Add `by` to the number of open blockers of a task."""
        self._rows.run("blockers_shift_one", id=task_id, by=by)

    def waits_on(self, task_id: str) -> list[Ranked]:
        return [Ranked(*row) for row in self._rows.all("waits_on", id=task_id)]

    def waited_on_by(self, task_id: str) -> list[Ranked]:
        return [Ranked(*row) for row in self._rows.all("waited_on_by", id=task_id)]

    def next_above(self, rank: int) -> int | None:
        row = self._rows.one("rank_next_above", rank=rank)
        return row[0] if row else None

    def next_below(self, rank: int) -> int | None:
        row = self._rows.one("rank_next_below", rank=rank)
        return row[0] if row else None

    def _new_ranks(self, waiter_id: str, blocker_id: str) -> list[Ranked]:
        return graph.new_ranks(self, waiter=self._ranked_task(waiter_id), blocker=self._ranked_task(blocker_id))

    def _ranked_task(self, task_id: str) -> Ranked:
        row = self._rows.one("rank_of", id=task_id)
        assert row is not None
        return Ranked(task_id, row[0])
