"""The repository of tasks. A task is moved only from the status and claim with which the task was read."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec

from maestro.core import errors, limits
from maestro.core.clock import from_micros_or_none, to_micros, to_micros_or_none
from maestro.domain.graph import RANK_STEP
from maestro.domain.tasks import Task, TaskStatus
from maestro.store.decoding import Decoder
from maestro.store.repositories.graph import TaskGraph
from maestro.store.rows import Rows

_encode = msgspec.json.Encoder().encode


class _StatusCount(NamedTuple):
    status: str
    tasks: int
    ready_tasks: int


class _ChildrenCount(NamedTuple):
    unfinished: int
    completed: int


TASK = Decoder(Task)
_STATUS_COUNT = Decoder(_StatusCount)
_CHILDREN_COUNT = Decoder(_ChildrenCount)


class TaskRepository:
    """Tasks by id, number, parent, holder and status."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self.graph = TaskGraph(rows)

    def insert(self, task: Task) -> int:
        """Insert a task with a rank above all other tasks; return its number in the project."""
        number = self._rows.fetch_value(
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
            **_editable_columns(task),
        )
        return int(number)

    def get(self, task_id: str) -> Task | None:
        return self._rows.fetch_first("task_get", TASK, id=task_id)

    def by_number(self, project_id: str, number: int) -> Task | None:
        return self._rows.fetch_first("task_by_number", TASK, project_id=project_id, number=number)

    def move(self, before: Task, after: Task) -> None:
        """Write a move. Refuse the move if the task no longer has the status and fence of `before`."""
        changed_count = self._rows.execute(
            "task_move",
            id=before.id,
            status=after.status.value,
            holder=after.holder,
            fence=after.fence,
            lease_seconds=after.lease_seconds,
            lease_until=to_micros_or_none(after.lease_until),
            reason=after.reason,
            updated_at=to_micros(after.updated_at),
            started_at=to_micros_or_none(after.started_at),
            finished_at=to_micros_or_none(after.finished_at),
            expected_status=before.status.value,
            expected_fence=before.fence,
        )
        if changed_count != 1:
            raise errors.ClaimLost(
                f"Another caller has just changed {before.ref}.", hint="Read the task again, then repeat the command."
            )

    def update(self, task: Task) -> None:
        self._rows.execute("task_edit", id=task.id, archived=task.archived, **_editable_columns(task))

    def delete(self, task_id: str) -> None:
        """Delete a task with its dependencies, reports, documents and issue."""
        self._rows.execute("edges_delete_from", task_id=task_id)
        dependent_rows = ("task_unlink_found", "task_delete_reports", "task_delete_documents", "issue_delete")
        for name in (*dependent_rows, "task_delete"):
            self._rows.execute(name, id=task_id)

    def list_page(
        self, project_id: str, *, after: int, limit: int, status: TaskStatus | None = None, archived: bool = False
    ) -> list[Task]:
        values = {"project_id": project_id, "after": after, "limit": limit, "archived": archived}
        if status is None:
            return self._fetch_tasks("task_page", **values)
        if status is TaskStatus.TODO:
            return self._fetch_tasks("task_page_todo", **values)
        return self._fetch_tasks("task_page_by_status", status=status.value, **values)

    def of_holder_in(
        self, project_id: str, holder: str, *, after: int, limit: int, status: TaskStatus | None = None
    ) -> list[Task]:
        """Return a page of the tasks that a holder has claimed in a project."""
        values = {"project_id": project_id, "holder": holder, "after": after, "limit": limit}
        return self._fetch_tasks("task_page_by_holder", status=status.value if status else None, **values)

    def of_holder(self, holder: str, *, limit: int) -> list[Task]:
        return self._fetch_tasks("tasks_of_holder", holder=holder, limit=limit)

    def list_ready(self, project_id: str, *, parent_id: str | None, after: tuple[int, int], limit: int) -> list[Task]:
        """Return the tasks that can be started now, most urgent first."""
        page = {"after_priority": after[0], "after_number": after[1], "limit": limit}
        if parent_id is None:
            return self._fetch_tasks("task_ready", project_id=project_id, **page)
        return self._fetch_tasks("task_ready_children", parent_id=parent_id, **page)

    def list_waiting(self, project_id: str, *, after: int, limit: int) -> list[Task]:
        """Return the open tasks that cannot be started."""
        return self._fetch_tasks("task_waiting", project_id=project_id, after=after, limit=limit)

    def list_open(self, project_id: str, *, limit: int) -> list[Task]:
        return self._fetch_tasks("open_tasks", project_id=project_id, limit=limit)

    def count_by_status(self, project_id: str) -> tuple[dict[str, int], int]:
        """Return the number of tasks in each status, and the number of ready tasks."""
        counts = self._rows.fetch_all("task_counts", _STATUS_COUNT, project_id=project_id)
        return {count.status: count.tasks for count in counts}, sum(count.ready_tasks for count in counts)

    def list_roots(self, project_id: str, *, limit: int) -> list[Task]:
        return self._fetch_tasks("task_roots", project_id=project_id, limit=limit)

    def list_children(self, parent_id: str, *, limit: int, after: int = 0) -> list[Task]:
        return self._fetch_tasks("task_children", parent_id=parent_id, after=after, limit=limit)

    def list_unfinished_children(self, parent_id: str, *, limit: int) -> list[Task]:
        return self._fetch_tasks("task_children_unfinished", parent_id=parent_id, limit=limit)

    def children_are_done(self, parent_id: str) -> bool:
        """Return whether all children are completed or cancelled, and at least one is completed."""
        count = self._rows.fetch_first("task_children_open", _CHILDREN_COUNT, parent_id=parent_id)
        return count is not None and count.unfinished == 0 and count.completed > 0

    def subtree_height(self, task_id: str) -> int:
        """Return the number of levels below a task."""
        return int(self._rows.fetch_value("task_height", id=task_id, limit=limits.task_depth_max))

    def list_work_in_tree(self, task_id: str, *, limit: int) -> list[Task]:
        """Return the work in a tree of tasks: tasks without children, and open parents with only closed children."""
        return self._fetch_tasks("tasks_below", id=task_id, limit=limit)

    def list_with_open_attempt(self, run_id: str) -> list[Task]:
        """Return the tasks with an open attempt of a run."""
        return self._fetch_tasks("tasks_at_work", run_id=run_id)

    def list_startable(self, task_id: str, run_id: str, *, project_id: str, limit: int) -> list[Task]:
        """Return the tasks of a tree that a run can start now, most urgent first."""
        return self._fetch_tasks("tasks_to_begin", id=task_id, run_id=run_id, project_id=project_id, limit=limit)

    def list_found_below(self, task_id: str, *, limit: int) -> list[Task]:
        """Return the tasks outside of a tree that were found during the work on the tree."""
        return self._fetch_tasks("tasks_found_below", id=task_id, limit=limit)

    def list_in_review(self, *, limit: int) -> list[Task]:
        """Return the tasks whose gates must run, the longest waiting first."""
        return self._fetch_tasks("tasks_in_review", limit=limit)

    def list_found_in(self, task_id: str, *, limit: int) -> list[Task]:
        return self._fetch_tasks("task_found_in", id=task_id, limit=limit)

    def list_dependencies(self, task_id: str, *, limit: int) -> list[Task]:
        return self._fetch_tasks("dependencies_of", task_id=task_id, limit=limit)

    def list_blockers(self, task_id: str, *, limit: int) -> list[Task]:
        return self._fetch_tasks("blockers_of", task_id=task_id, limit=limit)

    def list_dependants(self, task_id: str, *, limit: int) -> list[Task]:
        return self._fetch_tasks("dependants_of", task_id=task_id, limit=limit)

    def list_expired_claims(self, at: datetime, *, limit: int) -> list[Task]:
        return self._fetch_tasks("task_leases_over", at=to_micros(at), limit=limit)

    def next_lease_end(self) -> datetime | None:
        """Return the time when the next claim runs out."""
        return from_micros_or_none(self._rows.fetch_value("task_next_lease"))

    def extend_leases(self, *, lease_until: datetime) -> None:
        """Extend claims so that none runs out before `lease_until`."""
        self._rows.execute("tasks_prolong", lease_until=to_micros(lease_until))

    def renew_claims(self, holder: str, *, at: datetime) -> int:
        """Renew all claims of a holder after a sign of life; return the number of renewed claims."""
        return self._rows.execute("task_renew", holder=holder, at=to_micros(at))

    def renew_claims_of_many(self, holders: Sequence[str], *, at: datetime) -> None:
        """Renew all claims of many holders after signs of life."""
        self._rows.execute("tasks_renew", holders=_encode(holders).decode(), at=to_micros(at))

    def has_lease(self, holder: str) -> bool:
        """Return whether a holder has a claim with a lease."""
        return self._rows.has_row("task_has_lease", holder=holder)

    def shift_blockers(self, task_id: str, by: int) -> list[str]:
        """Add `by` to the open blockers of all tasks that wait on a task; return the ids of the waiting tasks."""
        return self._rows.fetch_values("blockers_shift", task_id=task_id, by=by)

    def has_open_in_stage(self, project_id: str, parent_id: str | None, stage: str) -> bool:
        return self._rows.has_row("stage_has_open", project_id=project_id, parent_id=parent_id, stage=stage)

    def uses_stage(self, project_id: str, stage: str) -> bool:
        return self._rows.has_row("stage_used", project_id=project_id, stage=stage)

    def stage_scopes(self, project_id: str) -> list[str | None]:
        """Return the ids of the parents whose children have stages; None stands for tasks without a parent."""
        return self._rows.fetch_values("stage_scopes", project_id=project_id)

    def hold_stage(self, project_id: str, parent_id: str | None, stage: str, *, held: bool) -> list[str]:
        """Hold back or release the tasks of a stage; return the ids of the changed tasks."""
        values = {"project_id": project_id, "parent_id": parent_id, "stage": stage, "held": held}
        return self._rows.fetch_values("stage_hold", **values)

    def _fetch_tasks(self, name: str, /, **values: object) -> list[Task]:
        return self._rows.fetch_page(name, TASK, description_chars=limits.description_chars_in_lists, **values)


def _editable_columns(task: Task) -> dict[str, object]:
    """Return the columns of a task that an edit may change."""
    return {
        "title": task.title,
        "description": task.description,
        "priority": task.priority.rank,
        "stage": task.stage,
        "parent_id": task.parent_id,
        "member": task.member,
        "accept": _encode(task.accept).decode(),
        "gates": _encode(task.gates).decode(),
        "updated_at": to_micros(task.updated_at),
    }
