"""A change of a project's stages holds back and releases the tasks of the project."""

from __future__ import annotations

from typing import Any

from maestro.operations.projects import EditProject
from maestro.operations.task_shapes import CreateTask
from maestro.services.projects import registry
from maestro.services.tasks import editing

World = Any
Board = Any


async def set_stages(world: World, *stages: str) -> None:
    await world.do(registry.edit_project, EditProject(project="vc", stages=list(stages)))


async def in_other_project(world: World, stage: str) -> str:
    """Create a task in project other, and return the id of the task."""
    made = await world.do(editing.create_task, CreateTask(project="other", title="t", stage=stage))
    return str(made.id)


async def test_a_new_order_of_stages_holds_back_and_releases_tasks(world: World, board: Board) -> None:
    plan, implementation = await board.create(stage="plan"), await board.create(stage="implement")
    await set_stages(world, "implement", "plan")
    assert [(await board.show(task)).ready for task in (plan, implementation)] == [False, True]
    assert (await board.ready_events())[-1] == "vc#2"


async def test_a_new_order_of_stages_applies_to_the_children_of_every_parent(world: World, board: Board) -> None:
    parents = [await board.create() for _ in range(2)]
    plans = [await board.create(parent=parent, stage="plan") for parent in parents]
    implementations = [await board.create(parent=parent, stage="implement") for parent in parents]
    await set_stages(world, "implement", "plan")
    assert [(await board.show(task)).ready for task in plans] == [False, False]
    assert [(await board.show(task)).ready for task in implementations] == [True, True]


async def test_a_new_order_of_stages_does_not_change_tasks_of_other_projects(world: World, board: Board) -> None:
    await world.do(registry.edit_project, EditProject(project="other", stages=["plan", "implement"]))
    await board.create(stage="implement")
    other_plan = await world.task(stage="plan")
    in_other = [await in_other_project(world, stage) for stage in ("plan", "implement")]
    await set_stages(world, "implement", "plan")
    assert not (await board.show(other_plan.id)).ready
    assert [(await board.show(task)).ready for task in in_other] == [True, False]
