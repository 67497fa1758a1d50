"""A move changes dependants, parents and stages in the same transaction, and returns warnings to the caller."""

from __future__ import annotations

from typing import Any

import pytest

from maestro.domain.callers import Caller
from maestro.services.tasks import dependencies, editing, moves

World = Any
Board = Any


async def test_a_completed_task_unblocks_only_dependants_without_other_blockers(board: Board) -> None:
    first, second = await board.create(), await board.create()
    waits_on_first = await board.create(depends_on=[first])
    waits_on_both = await board.create(depends_on=[first, second])
    completed = await board.complete(first)
    assert completed.unblocked == ["vc#3"]
    assert [(await board.show(task)).ready for task in (waits_on_first, waits_on_both)] == [True, False]
    assert (await board.complete(second)).unblocked == ["vc#4"]


@pytest.mark.parametrize("end", [moves.cancel_task, moves.fail_task])
async def test_a_task_that_ends_without_completion_unblocks_no_dependant(board: Board, end: Any) -> None:
    blocker = await board.create()
    dependant = await board.create(depends_on=[blocker])
    await board.call(moves.start_task, blocker)
    ended = await board.call(end, blocker, reason="not needed")
    assert ended.unblocked == []
    assert not (await board.show(dependant)).ready


async def test_the_last_task_of_a_stage_releases_the_next_stage(board: Board) -> None:
    plans = [await board.create(stage="plan") for _ in range(2)]
    held = await board.create(stage="implement")
    last = await board.create(stage="verify")
    assert (await board.complete(plans[0])).unblocked == []
    assert (await board.call(moves.cancel_task, plans[1])).unblocked == ["vc#3"]
    assert [(await board.show(task)).ready for task in (held, last)] == [True, False]


async def test_a_reopened_task_holds_its_dependants_and_later_stages_back_again(board: Board) -> None:
    plan = await board.create(stage="plan")
    staged = await board.create(stage="implement")
    dependant = await board.create(depends_on=[plan])
    await board.complete(plan)
    reopened = await board.call(moves.reopen_task, plan)
    assert reopened.warnings == []
    assert [(await board.show(task)).ready for task in (staged, dependant)] == [False, False]


async def test_a_reopened_task_warns_of_a_running_dependant_and_of_a_finished_parent(board: Board) -> None:
    parent = await board.create()
    child = await board.create(parent=parent)
    dependant = await board.create(depends_on=[child])
    await board.complete(child)
    await board.call(moves.start_task, dependant)
    reopened = await board.call(moves.reopen_task, child)
    assert reopened.warnings == [
        "vc#3 is in_progress and continues, although it depends on vc#2, which is open again.",
        "vc#1, the parent of vc#2, stays completed.",
    ]
    assert await board.statuses(parent, dependant) == ["completed", "in_progress"]


async def test_the_log_reports_each_ready_task_once(board: Board) -> None:
    """One move completes the blocker of the dependant and also releases the stage of the dependant."""
    plan = await board.create(stage="plan")
    await board.create(stage="implement", depends_on=[plan])
    before = await board.ready_events()
    completed = await board.complete(plan)
    assert completed.unblocked == ["vc#2"]
    assert await board.ready_events() == [*before, "vc#2"]


async def test_a_task_with_two_blockers_that_complete_in_one_request_becomes_ready_once(board: Board) -> None:
    """The completion queues the dependant twice: for the blocker, and for the parent that completes with it."""
    blocker = await board.create()
    parent = await board.create(depends_on=[blocker])
    await board.complete(await board.create(parent=parent))
    await board.create(depends_on=[blocker, parent])
    before = await board.ready_events()
    assert (await board.complete(blocker)).unblocked == ["vc#4"]
    assert await board.ready_events() == [*before, "vc#4"]


async def test_the_answer_to_a_move_does_not_name_the_moved_task_as_unblocked(board: Board) -> None:
    task = await board.create()
    await board.call(moves.start_task, task)
    released = await board.call(moves.release_task, task)
    assert released.ready and released.unblocked == []
    assert (await board.ready_events())[-1] == "vc#1"


@pytest.mark.parametrize("last", ["completed", "cancelled"])
async def test_a_parent_completes_with_its_last_child(board: Board, last: str) -> None:
    parent = await board.create()
    first, second = [await board.create(parent=parent) for _ in range(2)]
    await board.complete(first)
    await (board.complete(second) if last == "completed" else board.call(moves.cancel_task, second))
    assert await board.statuses(parent) == ["completed"]


async def test_a_parent_of_cancelled_children_stays_open(board: Board) -> None:
    parent = await board.create()
    for _ in range(2):
        await board.call(moves.cancel_task, await board.create(parent=parent))
    assert await board.statuses(parent) == ["todo"]


async def test_a_parent_in_a_held_stage_completes_when_the_stage_is_released(board: Board) -> None:
    plan = await board.create(stage="plan")
    parent = await board.create(stage="implement")
    await board.complete(await board.create(parent=parent))
    assert await board.statuses(parent) == ["todo"]
    await board.complete(plan)
    assert await board.statuses(parent) == ["completed"]


async def test_one_completion_completes_a_parent_and_the_parent_above(board: Board) -> None:
    """The upper parent completes because of the lower parent while the upper parent is still queued itself."""
    blocker = await board.create()
    lower = await board.create(depends_on=[blocker])
    upper = await board.create(depends_on=[blocker])
    await board.call(editing.edit_task, lower, parent=upper)
    await board.complete(await board.create(parent=lower))
    await board.complete(blocker)
    assert await board.statuses(blocker, lower, upper) == ["completed", "completed", "completed"]


async def test_a_running_parent_completes_with_the_last_task_that_it_waits_on(
    board: Board, entangled: tuple[Caller, str, str]
) -> None:
    _, lower, upper = entangled
    assert await board.statuses(lower, upper) == ["completed", "completed"]


async def test_a_blocked_parent_with_completed_children_completes_when_it_is_unblocked(board: Board) -> None:
    parent = await board.create()
    child = await board.create(parent=parent)
    await board.call(moves.start_task, parent)
    await board.call(moves.block_task, parent, reason="waits")
    await board.complete(child)
    assert await board.statuses(parent) == ["blocked"]
    await board.call(moves.unblock_task, parent)
    assert await board.statuses(parent) == ["completed"]


async def test_a_completed_parent_that_is_reopened_stays_open(board: Board) -> None:
    """The caller reopens the parent on purpose, although all children are completed."""
    parent = await board.create()
    await board.complete(await board.create(parent=parent))
    assert await board.statuses(parent) == ["completed"]
    reopened = await board.call(moves.reopen_task, parent)
    assert reopened.status == "todo" and reopened.ready
    await board.complete(parent)


async def test_a_parent_that_is_rejected_in_review_is_ready_again(board: Board) -> None:
    parent = await board.create(gates=["sleep 20"])
    await board.complete(await board.create(parent=parent))
    assert await board.statuses(parent) == ["in_review"]
    rejected = await board.call(moves.reject_task, parent, reason="not yet")
    assert rejected.status == "todo" and rejected.ready


async def test_a_long_chain_of_parents_completes_with_the_first_task_of_the_chain(board: Board) -> None:
    """Each task waits on the previous task and has a completed child, so the first completion completes all tasks."""
    first = before = await board.create()
    for _ in range(400):
        task = await board.create(depends_on=[before])
        await board.complete(await board.create(parent=task))
        before = task
    await board.complete(first)
    assert await board.statuses(before) == ["completed"]


async def test_a_removed_dependency_may_complete_a_parent(board: Board) -> None:
    blocker = await board.create()
    parent = await board.create(depends_on=[blocker])
    await board.complete(await board.create(parent=parent))
    await board.call(dependencies.change_dependencies, parent, on=[blocker], remove=True)
    assert await board.statuses(parent) == ["completed"]
