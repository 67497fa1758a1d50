"""Tasks: reading them, and moving them only from where they were read."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from maestro.core import errors, limits
from maestro.core.clock import from_micros, maybe_micros, maybe_time, to_micros
from maestro.domain.graph import RANK_STEP
from maestro.domain.tasks import Priority, Status, Task
from maestro.store.repositories.graph import TaskGraph
from maestro.store.rows import Row, Rows

_encode = msgspec.json.Encoder().encode
_texts = msgspec.json.Decoder(list[str]).decode
_PRIORITIES = tuple(Priority)
_RANKS = {priority: rank for rank, priority in enumerate(Priority)}
_STATUSES = {status.value: status for status in Status}


class Tasks:
    """Tasks by id, number, place and state."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self.graph = TaskGraph(rows)

    def insert(self, task: Task) -> int:
        """A new task, ranked above all others; the number it got in its project."""
        row = self._rows.one(
            "task_insert",
            id=task.id,
            project_id=task.project_id,
            status=task.status.value,
            found_in=task.found_in,
            open_blockers=task.open_blockers,
            stage_held=task.stage_held,
            rank_step=RANK_STEP,
            created_by=task.created_by,
            created_at=to_micros(task.created_at),
            from_project_id=task.from_project_id,
            **_words(task),
        )
        assert row is not None
        return int(row[0])

    def get(self, task_id: str) -> Task | None:
        row = self._rows.one("task_get", id=task_id)
        return task_of_row(row) if row else None

    def by_number(self, project_id: str, number: int) -> Task | None:
        row = self._rows.one("task_by_number", project_id=project_id, number=number)
        return task_of_row(row) if row else None

    def move(self, before: Task, after: Task) -> None:
        """Write a move, guarded by the status and fence it was decided on."""
        changed = self._rows.run(
            "task_move",
            id=before.id,
            status=after.status.value,
            holder=after.holder,
            fence=after.fence,
            lease_seconds=after.lease_seconds,
            lease_until=maybe_micros(after.lease_until),
            reason=after.reason,
            updated_at=to_micros(after.updated_at),
            started_at=maybe_micros(after.started_at),
            finished_at=maybe_micros(after.finished_at),
            expected_status=before.status.value,
            expected_fence=before.fence,
        )
        if changed != 1:
            raise errors.ClaimLost(f"{before.ref} was changed by someone else just now.", hint="Look again.")

    def edit(self, task: Task) -> None:
        self._rows.run("task_edit", id=task.id, archived=task.archived, **_words(task))

    def delete(self, task_id: str) -> None:
        """Remove a task with everything that is only about it."""
        self._rows.run("edges_delete_from", task_id=task_id)
        about = ("task_unlink_found", "task_delete_reports", "task_delete_documents", "issue_delete")
        for name in (*about, "task_delete"):
            self._rows.run(name, id=task_id)

    def page(
        self, project_id: str, *, after: int, limit: int, status: Status | None = None, archived: bool = False
    ) -> list[Task]:
        values = {"project_id": project_id, "after": after, "limit": limit, "archived": archived}
        if status is None:
            return self._tasks("task_page", **values)
        if status is Status.TODO:
            return self._tasks("task_page_todo", **values)
        return self._tasks("task_page_by_status", status=status.value, **values)

    def of_holder_in(
        self, project_id: str, holder: str, *, after: int, limit: int, status: Status | None = None
    ) -> list[Task]:
        """A page of what one holder has claimed in a project."""
        wanted = status.value if status else None
        return self._tasks(
            "task_page_by_holder", project_id=project_id, holder=holder, after=after, limit=limit, status=wanted
        )

    def of_holder(self, holder: str, *, limit: int) -> list[Task]:
        return self._tasks("tasks_of_holder", holder=holder, limit=limit)

    def ready(self, project_id: str, *, parent_id: str | None, after: tuple[int, int], limit: int) -> list[Task]:
        """What can be started now, most urgent first."""
        place = {"after_priority": after[0], "after_number": after[1], "limit": limit}
        if parent_id is None:
            return self._tasks("task_ready", project_id=project_id, **place)
        return self._tasks("task_ready_children", parent_id=parent_id, **place)

    def waiting(self, project_id: str, *, after: int, limit: int) -> list[Task]:
        """Open tasks that cannot be started."""
        return self._tasks("task_waiting", project_id=project_id, after=after, limit=limit)

    def open(self, project_id: str, *, limit: int) -> list[Task]:
        return self._tasks("open_tasks", project_id=project_id, limit=limit)

    def counts(self, project_id: str) -> tuple[dict[str, int], int]:
        """How many tasks stand where, and how many are ready."""
        rows = self._rows.all("task_counts", project_id=project_id)
        return {row[0]: row[1] for row in rows}, sum(row[2] for row in rows)

    def roots(self, project_id: str, *, limit: int) -> list[Task]:
        return self._tasks("task_roots", project_id=project_id, limit=limit)

    def children(self, parent_id: str, *, limit: int, after: int = 0) -> list[Task]:
        return self._tasks("task_children", parent_id=parent_id, after=after, limit=limit)

    def unfinished_children(self, parent_id: str, *, limit: int) -> list[Task]:
        return self._tasks("task_children_unfinished", parent_id=parent_id, limit=limit)

    def children_are_done(self, parent_id: str) -> bool:
        """Every child completed or was cancelled, and at least one completed."""
        row = self._rows.one("task_children_open", parent_id=parent_id)
        return row is not None and row[0] == 0 and row[1] > 0

    def height(self, task_id: str) -> int:
        """How many levels there are below a task."""
        row = self._rows.one("task_height", id=task_id, limit=limits.task_depth_max)
        return int(row[0]) if row else 0

    def to_work_off(self, task_id: str, *, limit: int) -> list[Task]:
        """What there is to do in a tree: what has nothing below itself, and open parents whose children are done."""
        return self._tasks("tasks_below", id=task_id, limit=limit)

    def at_work(self, run_id: str) -> list[Task]:
        """What a run is at."""
        return self._tasks("tasks_at_work", run_id=run_id)

    def to_begin(self, task_id: str, run_id: str, *, project_id: str, limit: int) -> list[Task]:
        """Of what there is to do in a tree, what a run could begin now, most urgent first."""
        return self._tasks("tasks_to_begin", id=task_id, run_id=run_id, project_id=project_id, limit=limit)

    def found_below(self, task_id: str, *, limit: int) -> list[Task]:
        """What was discovered while working on a tree, and does not belong to it."""
        return self._tasks("tasks_found_below", id=task_id, limit=limit)

    def in_review(self, *, limit: int) -> list[Task]:
        """Tasks whose gates are to be run, those that wait longest first."""
        return self._tasks("tasks_in_review", limit=limit)

    def found_in(self, task_id: str, *, limit: int) -> list[Task]:
        return self._tasks("task_found_in", id=task_id, limit=limit)

    def dependencies(self, task_id: str, *, limit: int) -> list[Task]:
        return self._tasks("dependencies_of", task_id=task_id, limit=limit)

    def blockers(self, task_id: str, *, limit: int) -> list[Task]:
        return self._tasks("blockers_of", task_id=task_id, limit=limit)

    def dependants(self, task_id: str, *, limit: int) -> list[Task]:
        return self._tasks("dependants_of", task_id=task_id, limit=limit)

    def leases_over(self, at: datetime, *, limit: int) -> list[Task]:
        return self._tasks("task_leases_over", at=to_micros(at), limit=limit)

    def next_lease(self) -> datetime | None:
        """When the next claim runs out."""
        row = self._rows.one("task_next_lease")
        return from_micros(row[0]) if row and row[0] is not None else None

    def prolong(self, *, lease_until: datetime) -> None:
        """No claim runs out before this."""
        self._rows.run("tasks_prolong", lease_until=to_micros(lease_until))

    def renew(self, holder: str, *, at: datetime) -> int:
        """A sign of life renews every claim of its holder."""
        return self._rows.run("task_renew", holder=holder, at=to_micros(at))

    def renew_many(self, holders: Sequence[str], *, at: datetime) -> None:
        """Signs of life of many holders."""
        self._rows.run("tasks_renew", holders=_encode(holders).decode(), at=to_micros(at))

    def has_lease(self, holder: str) -> bool:
        """Whether a holder's sign of life renews something."""
        return self._rows.one("task_has_lease", holder=holder) is not None

    def shift_blockers(self, task_id: str, by: int) -> list[str]:
        """Everything that waits on a task has `by` more open blockers; the ids of those tasks."""
        return [row[0] for row in self._rows.all("blockers_shift", task_id=task_id, by=by)]

    def stage_has_open(self, project_id: str, parent_id: str | None, stage: str) -> bool:
        found = self._rows.one("stage_has_open", project_id=project_id, parent_id=parent_id, stage=stage)
        return found is not None

    def uses_stage(self, project_id: str, stage: str) -> bool:
        return self._rows.one("stage_used", project_id=project_id, stage=stage) is not None

    def stage_scopes(self, project_id: str) -> list[str | None]:
        """The parents under which tasks stand in stages; none for the roots."""
        return [row[0] for row in self._rows.all("stage_scopes", project_id=project_id)]

    def hold_stage(self, project_id: str, parent_id: str | None, stage: str, *, held: bool) -> list[str]:
        """Hold a stage's tasks back or let them go; the ids of those that changed."""
        rows = self._rows.all("stage_hold", project_id=project_id, parent_id=parent_id, stage=stage, held=held)
        return [row[0] for row in rows]

    def _tasks(self, name: str, /, **values: object) -> list[Task]:
        rows = self._rows.page(name, description_chars=limits.description_chars_in_lists, **values)
        return [task_of_row(row) for row in rows]


def _words(task: Task) -> dict[str, object]:
    """What a task says, as columns."""
    return {
        "title": task.title,
        "description": task.description,
        "priority": _RANKS[task.priority],
        "stage": task.stage,
        "parent_id": task.parent_id,
        "member": task.member,
        "accept": _encode(task.accept).decode(),
        "gates": _encode(task.gates).decode(),
        "updated_at": to_micros(task.updated_at),
    }


def task_of_row(row: Row) -> Task:
    """A task from the columns that every statement about tasks gives."""
    status, open_blockers, stage_held = _STATUSES[row[6]], row[20], bool(row[21])
    return Task(
        id=row[0],
        project_id=row[1],
        ref=f"{row[2]}#{row[3]}",
        number=row[3],
        title=row[4],
        description=row[5],
        status=status,
        priority=_PRIORITIES[row[7]],
        ready=status is Status.TODO and open_blockers == 0 and not stage_held,
        stage=row[8],
        parent_id=row[9],
        found_in=row[10],
        member=row[11],
        accept=_texts(row[12]),
        gates=_texts(row[13]),
        archived=bool(row[14]),
        reason=row[15],
        holder=row[16],
        holder_name=row[28],
        fence=row[17],
        lease_seconds=row[18],
        lease_until=maybe_time(row[19]),
        open_blockers=open_blockers,
        stage_held=stage_held,
        created_by=row[22],
        created_at=from_micros(row[23]),
        updated_at=from_micros(row[24]),
        started_at=maybe_time(row[25]),
        finished_at=maybe_time(row[26]),
        from_project_id=row[27],
    )
