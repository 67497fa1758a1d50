"""A request changes all named dependencies of a task or none; cycles are refused, and doubtful ones get a warning."""

from __future__ import annotations

from typing import Any

import pytest

from maestro.core import errors, limits
from maestro.services.tasks import editing, moves
from maestro.services.tasks.dependencies import change_dependencies

World = Any
Board = Any


async def dependency_events(world: World) -> list[tuple[str, str, str]]:
    """Return the kind, the task and the blocker of each dependency event in the log."""
    return [
        (event.kind.removeprefix("task."), event.data["ref"], event.data["on_ref"])
        for event in await world.log()
        if event.kind.startswith("task.dependency")
    ]


async def test_a_task_depends_once_on_each_named_task(world: World, board: Board) -> None:
    first, second, task = [await board.create() for _ in range(3)]
    waiting = await board.call(change_dependencies, task, on=[first, "#1", second])
    assert (waiting.open_blockers, waiting.ready) == (2, False)
    await board.call(change_dependencies, task, on=[first])
    assert (await board.show(task)).open_blockers == 2
    added = [("dependency_added", "vc#3", "vc#1"), ("dependency_added", "vc#3", "vc#2")]
    assert await dependency_events(world) == added


async def test_a_dependency_on_a_completed_task_blocks_nothing(board: Board) -> None:
    done, task = await board.create(), await board.create()
    await board.complete(done)
    waiting = await board.call(change_dependencies, task, on=[done])
    assert waiting.ready and waiting.open_blockers == 0
    await board.call(moves.reopen_task, done)
    assert (await board.show(task)).open_blockers == 1


async def test_a_removed_dependency_makes_the_task_ready(world: World, board: Board) -> None:
    blocker = await board.create()
    task = await board.create(depends_on=[blocker])
    freed = await board.call(change_dependencies, task, on=[blocker], remove=True)
    assert freed.ready and freed.open_blockers == 0
    assert (await dependency_events(world))[-1] == ("dependency_removed", "vc#2", "vc#1")
    assert (await board.ready_events())[-1] == "vc#2"


async def test_the_removal_of_a_completed_blocker_keeps_the_count_of_open_blockers(board: Board) -> None:
    done, still_open = await board.create(), await board.create()
    task = await board.create(depends_on=[done, still_open])
    await board.complete(done)
    assert (await board.call(change_dependencies, task, on=[done], remove=True)).open_blockers == 1


async def test_a_dependency_that_does_not_exist_cannot_be_removed(board: Board) -> None:
    blocker, other = await board.create(), await board.create()
    task = await board.create(depends_on=[blocker])
    with pytest.raises(errors.NotFound, match="vc#3 does not depend on vc#2"):
        await board.call(change_dependencies, task, on=[blocker, other], remove=True)
    assert (await board.show(task)).open_blockers == 1, "a refused removal removes no dependency"


async def test_a_change_of_dependencies_without_named_tasks_is_refused(board: Board) -> None:
    task = await board.create()
    with pytest.raises(errors.Invalid) as refused:
        await board.call(change_dependencies, task, on=[])
    assert "--on" in refused.value.hint


async def test_a_dependency_cycle_is_refused_with_the_tasks_of_the_cycle(world: World, board: Board) -> None:
    first = await board.create()
    second = await board.create(depends_on=[first])
    third = await board.create(depends_on=[second])
    with pytest.raises(errors.Cycle) as refused:
        await board.call(change_dependencies, first, on=[third])
    assert refused.value.data == {"cycle": ["vc#1", "vc#3", "vc#2", "vc#1"], "length": 3}
    assert (await board.show(first)).ready
    assert len(await dependency_events(world)) == 2


async def test_a_task_cannot_depend_on_itself(board: Board) -> None:
    task = await board.create()
    with pytest.raises(errors.Cycle):
        await board.call(change_dependencies, task, on=[task])


async def test_a_child_cannot_depend_on_its_parent(board: Board) -> None:
    parent = await board.create()
    child = await board.create(parent=parent)
    with pytest.raises(errors.Cycle):
        await board.call(change_dependencies, child, on=[parent])


async def test_the_error_about_a_long_cycle_names_only_the_first_tasks_of_the_cycle(
    board: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "cycle_names_shown_max", 2)
    first = last = await board.create()
    for _ in range(3):
        last = await board.create(depends_on=[last])
    with pytest.raises(errors.Cycle) as refused:
        await board.call(change_dependencies, first, on=[last])
    assert refused.value.data == {"cycle": ["vc#1", "vc#4", "…", "vc#1"], "length": 4}


async def test_a_task_has_a_limited_number_of_dependencies(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "dependencies_of_one_task_max", 2)
    blockers = [await board.create() for _ in range(3)]
    task = await board.create()
    await board.call(change_dependencies, task, on=blockers[:2])
    with pytest.raises(errors.Conflict, match="more than 2 tasks"):
        await board.call(change_dependencies, task, on=blockers[2:])
    assert (await board.show(task)).open_blockers == 2


async def test_a_running_task_with_a_new_open_dependency_continues_and_the_caller_gets_a_warning(
    world: World, board: Board
) -> None:
    worker = await world.join("w")
    blocker, task = await board.create(), await board.create(held_by=worker)
    waiting = await board.call(change_dependencies, task, on=[blocker])
    assert waiting.status == "in_progress"
    assert waiting.warnings == ["vc#2 is already in_progress and continues, although vc#1 is open."]


@pytest.mark.parametrize(("end", "status"), [(moves.fail_task, "failed"), (moves.cancel_task, "cancelled")])
async def test_a_dependency_on_a_task_that_ended_without_completion_causes_a_warning(
    board: Board, end: Any, status: str
) -> None:
    blocker, task = await board.create(), await board.create()
    await board.call(moves.start_task, blocker)
    await board.call(end, blocker)
    waiting = await board.call(change_dependencies, task, on=[blocker])
    assert waiting.warnings == [f"vc#1 is {status}: vc#2 waits until vc#1 is reopened."]


async def test_a_dependency_on_a_task_of_a_later_stage_causes_a_warning(board: Board) -> None:
    plan, implementation = await board.create(stage="plan"), await board.create(stage="implement")
    waiting = await board.call(change_dependencies, plan, on=[implementation])
    assert waiting.warnings == [
        "vc#1 (plan) and vc#2 (implement) wait on each other: a stage waits for the stages before it."
    ]
    parent = await board.create()
    await board.call(editing.edit_task, implementation, parent=parent)
    other = await board.create(stage="plan")
    in_another_scope = await board.call(change_dependencies, other, on=[implementation])
    assert in_another_scope.warnings == []


async def test_a_worker_changes_only_dependencies_of_tasks_that_the_worker_holds(world: World, board: Board) -> None:
    worker = await world.join("w")
    blocker, task, held = await board.create(), await board.create(), await board.create(held_by=worker)
    with pytest.raises(errors.NotHeld):
        await board.call(change_dependencies, task, by=worker, on=[blocker])
    assert (await board.call(change_dependencies, held, by=worker, on=[blocker])).open_blockers == 1
