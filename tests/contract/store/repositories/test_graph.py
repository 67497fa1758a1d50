"""The graph of tasks: edges, their ranks, and the dependencies of several tasks."""

from __future__ import annotations

import pytest

from maestro.core import errors
from maestro.domain.graph import CycleFound
from maestro.domain.tasks import Task, TaskStatus
from maestro.store.base import Store, Tx
from maestro.testing.factories import make_task


async def insert_tasks(store: Store, count: int) -> list[Task]:
    tasks = [make_task(number=number) for number in range(1, count + 1)]
    await store.write(lambda tx: [tx.tasks.insert(task) for task in tasks])
    return tasks


async def add_edge(store: Store, waiter: Task, blocker: Task) -> bool:
    def work(tx: Tx) -> bool:
        tx.tasks.graph.adjust_ranks(waiter.id, blocker.id)
        return tx.tasks.graph.add_edge(waiter.id, blocker.id)

    return await store.write(work)


async def test_an_edge_is_added_and_removed_once(store: Store) -> None:
    first, second = await insert_tasks(store, 2)
    assert await add_edge(store, second, first) and not await add_edge(store, second, first)
    assert await store.read(lambda tx: tx.tasks.graph.count_dependencies(second.id)) == 1
    assert await store.write(lambda tx: tx.tasks.graph.remove_edge(second.id, first.id))
    assert not await store.write(lambda tx: tx.tasks.graph.remove_edge(second.id, first.id))
    assert await store.read(lambda tx: tx.tasks.graph.count_dependencies(second.id)) == 0


async def test_a_task_has_a_lower_rank_than_each_task_that_waits_for_it(store: Store) -> None:
    tasks = await insert_tasks(store, 3)
    for waiter, blocker in ((0, 2), (2, 1)):
        await add_edge(store, tasks[waiter], tasks[blocker])
    below = await store.read(lambda tx: tx.tasks.graph.waits_on(tasks[0].id))
    above = await store.read(lambda tx: tx.tasks.graph.waited_on_by(tasks[1].id))
    assert [task.id for task in below] == [task.id for task in above] == [tasks[2].id]
    (middle,) = below
    lowest = await store.read(lambda tx: tx.tasks.graph.next_below(middle.rank))
    highest = await store.read(lambda tx: tx.tasks.graph.next_above(middle.rank))
    assert lowest is not None and highest is not None and lowest < middle.rank < highest
    assert await store.read(lambda tx: tx.tasks.graph.next_above(highest)) is None
    assert await store.read(lambda tx: tx.tasks.graph.next_below(lowest)) is None


async def test_an_edge_that_closes_a_cycle_is_refused(store: Store) -> None:
    first, second = await insert_tasks(store, 2)
    await add_edge(store, second, first)
    with pytest.raises((CycleFound, errors.MaestroError)):
        await add_edge(store, first, second)
    assert await store.read(lambda tx: tx.tasks.graph.count_dependencies(first.id)) == 0


async def test_a_parent_waits_on_its_children(store: Store) -> None:
    (parent,) = await insert_tasks(store, 1)
    child = make_task(number=2, parent_id=parent.id)
    await store.write(lambda tx: tx.tasks.insert(child))
    assert [task.id for task in await store.read(lambda tx: tx.tasks.graph.waits_on(parent.id))] == [child.id]
    assert [task.id for task in await store.read(lambda tx: tx.tasks.graph.waited_on_by(child.id))] == [parent.id]


async def test_the_dependencies_of_several_tasks_are_listed_with_reference_and_status(store: Store) -> None:
    first, second, third = await insert_tasks(store, 3)
    for waiter, blocker in ((third, second), (third, first), (second, first)):
        await add_edge(store, waiter, blocker)
    found = await store.read(lambda tx: tx.tasks.graph.dependencies_of([first.id, second.id, third.id]))
    assert found == {
        second.id: [("vc#1", TaskStatus.TODO)],
        third.id: [("vc#1", TaskStatus.TODO), ("vc#2", TaskStatus.TODO)],
    }


async def test_the_number_of_open_blockers_is_raised_and_lowered(store: Store) -> None:
    (task,) = await insert_tasks(store, 1)
    for by, count in ((2, 2), (-1, 1)):
        await store.write(lambda tx, by=by: tx.tasks.graph.shift_open_blockers(task.id, by))
        stored = await store.read(lambda tx: tx.tasks.get(task.id))
        assert stored is not None and (stored.open_blockers, stored.ready) == (count, False)
