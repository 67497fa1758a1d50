"""Short references to tasks, for answers that mention other tasks."""

from __future__ import annotations

from collections.abc import Sequence

from maestro.domain.tasks import Task
from maestro.operations.task_shapes import TaskReference


def task_links(tasks: Sequence[Task]) -> list[TaskReference]:
    return [TaskReference(task.id, task.ref, task.title, task.status) for task in tasks]
