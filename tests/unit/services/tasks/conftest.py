"""Provide a board of tasks in project vc that calls the task services on a store."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_type_hints

import msgspec
import pytest

from maestro.domain.callers import Caller
from maestro.domain.projects import Project
from maestro.domain.tasks import DEFAULT_STAGES, Task
from maestro.operations.task_shapes import CompleteTask, DependTask, EditTask, MovedTask, StartTask
from maestro.services.tasks import dependencies, editing, moves

World = Any


class TaskBoard:
    """Helpers that create, move and read tasks, as the person or as a named caller."""

    def __init__(self, world: World) -> None:
        self.world = world

    async def create(self, **fields: Any) -> str:
        """Create a task and return its id."""
        return str((await self.world.task(**fields)).id)

    async def call(
        self, service: Callable[..., Any], task_id: str = "", *, by: Caller | None = None, **fields: Any
    ) -> Any:
        """Call a service with a request of the type that the service takes, and return the result."""
        request = get_type_hints(service)["request"]
        named = {"id": task_id} if task_id else {}
        return await self.world.do(service, request(**named, **fields), by=by)

    async def complete(self, task_id: str) -> MovedTask:
        """Start and complete a task, and return the answer to the completion."""
        await self.call(moves.start_task, task_id)
        completed: MovedTask = await self.call(moves.complete_task, task_id)
        return completed

    async def show(self, task_id: str) -> Task:
        """Return the task as stored."""
        found = await self.world.store.read(lambda tx: tx.tasks.get(task_id))
        assert found is not None
        return found

    async def statuses(self, *task_ids: str) -> list[str]:
        return [(await self.show(task_id)).status.value for task_id in task_ids]

    async def ready_events(self) -> list[str]:
        """Return the refs of all tasks that the log reports as ready, in the order of the log."""
        return [event.data["ref"] for event in await self.world.log() if event.kind == "task.ready"]


@pytest.fixture
async def board(world: World) -> TaskBoard:
    """Set the default stages of project vc, and return its board."""

    def set_stages(tx: Any) -> None:
        project: Project = tx.projects.by_name("vc")
        tx.projects.update(msgspec.structs.replace(project, stages=list(DEFAULT_STAGES)))

    await world.store.write(set_stages)
    return TaskBoard(world)


@pytest.fixture
async def entangled(world: World, board: TaskBoard) -> tuple[Caller, str, str]:
    """Return a worker and two tasks that the worker has claimed: a task and the parent of the task.

    The lower task has a completed child, and depends on another task that is completed too.
    """
    worker = await world.join("w1")
    lower, upper = await board.create(), await board.create()
    await world.do(editing.edit_task, EditTask(id=lower, parent=upper))
    child = await board.create(parent=lower)
    for task_id in (lower, upper):
        await world.do(moves.start_task, StartTask(id=task_id), by=worker)
    late = await board.create()
    await world.do(dependencies.change_dependencies, DependTask(id=lower, on=[late]))
    for task_id in (child, late):
        await world.do(moves.start_task, StartTask(id=task_id))
        await world.do(moves.complete_task, CompleteTask(id=task_id))
    return worker, lower, upper
