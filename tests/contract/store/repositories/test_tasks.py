"""The repository of tasks: every field, guarded moves, lists in order, leases and stages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from maestro.core import errors, limits
from maestro.domain import tasks
from maestro.domain.documents import Document, ReportKind, StoredContent, TaskReport
from maestro.domain.issues import Issue
from maestro.domain.priorities import Priority
from maestro.domain.sessions import Session
from maestro.domain.tasks import Task, TaskStatus
from maestro.store.base import Store, Tx
from maestro.testing.clock import FakeClock
from maestro.testing.factories import make_task

Enter = Callable[..., Awaitable[Session]]
VC, OTHER = "prj_00000000000000000000000000", "prj_00000000000000000000000001"


async def insert(store: Store, *changes: dict[str, Any]) -> list[Task]:
    """Insert tasks with consecutive numbers."""
    inserted = [make_task(number=number, **fields) for number, fields in enumerate(changes, 1)]
    await store.write(lambda tx: [tx.tasks.insert(task) for task in inserted])
    return inserted


async def numbers(store: Store, work: Callable[[Tx], list[Task]]) -> list[int]:
    return [task.number for task in await store.read(work)]


async def test_a_task_keeps_every_field(store: Store) -> None:
    (parent,) = await insert(store, {})
    task = make_task(
        number=2,
        title="Ünïcödé ✓",
        description="a\nb",
        status=TaskStatus.BLOCKED,
        priority=Priority.CRITICAL,
        ready=False,
        stage="plan",
        parent_id=parent.id,
        found_in=parent.id,
        member="ada",
        accept=["a,b"],
        gates=["make 'test'"],
        open_blockers=2,
        stage_held=True,
        from_project_id=OTHER,
    )
    assert await store.write(lambda tx: tx.tasks.insert(task)) == 2
    assert await store.read(lambda tx: tx.tasks.get(task.id)) == task
    assert await store.read(lambda tx: tx.tasks.by_number(VC, 2)) == task
    assert await store.read(lambda tx: tx.tasks.list_children(parent.id, limit=9)) == [task]
    assert await store.read(lambda tx: (tx.tasks.get("tsk_unknown"), tx.tasks.by_number(VC, 3))) == (None, None)


async def test_tasks_are_numbered_in_each_project(store: Store) -> None:
    created = [make_task(project_id=project) for project in (VC, OTHER, VC)]
    assert await store.write(lambda tx: [tx.tasks.insert(task) for task in created]) == [1, 1, 2]


async def test_a_move_stores_every_field_and_succeeds_once(store: Store, enter: Enter, clock: FakeClock) -> None:
    session = await enter("w")
    (task,) = await insert(store, {})
    at = clock.now()
    move = tasks.start(task, holder=session.id, holder_name="w", lease_seconds=60, at=at)
    await store.write(lambda tx: tx.tasks.move(move.before, move.after))
    started = await store.read(lambda tx: tx.tasks.get(task.id))
    assert started == move.after
    with pytest.raises(errors.ClaimLost):
        await store.write(lambda tx: tx.tasks.move(move.before, move.after))
    done = tasks.complete(move.after, at=at + timedelta(seconds=1))
    await store.write(lambda tx: tx.tasks.move(done.before, done.after))
    assert await store.read(lambda tx: tx.tasks.get(task.id)) == done.after


async def test_an_edit_changes_neither_status_nor_claim(store: Store) -> None:
    (task,) = await insert(store, {"stage": "plan", "stage_held": True, "ready": False})
    edited = msgspec.structs.replace(
        task,
        title="new",
        description="d",
        priority=Priority.LOW,
        member="bob",
        accept=["x"],
        gates=["y"],
        archived=True,
    )
    await store.write(lambda tx: tx.tasks.update(msgspec.structs.replace(edited, status=TaskStatus.FAILED, fence=9)))
    assert await store.read(lambda tx: tx.tasks.get(task.id)) == edited
    await store.write(lambda tx: tx.tasks.update(msgspec.structs.replace(edited, stage=None)))
    released = await store.read(lambda tx: tx.tasks.get(task.id))
    assert released is not None and (released.stage, released.stage_held, released.ready) == (None, False, True)


async def test_a_deleted_task_leaves_no_rows(store: Store, clock: FakeClock) -> None:
    blocker, task = await insert(store, {}, {"from_project_id": OTHER})
    found = make_task(number=3, found_in=task.id)

    def fill(tx: Tx) -> None:
        tx.tasks.graph.add_edge(task.id, blocker.id)
        tx.tasks.insert(found)
        document = Document("doc_1", task.id, "t", "f", 1, "s", "dana", tx.at)
        tx.documents.insert(document, StoredContent(b"x", None, 1, "s"))
        tx.documents.insert_report(TaskReport("rep_1", task.id, ReportKind.PROGRESS, "t", "dana", tx.at))
        tx.issues.insert(Issue(task.id, "msg_1", "dana"))

    await store.write(fill)
    await store.write(lambda tx: tx.tasks.delete(task.id))
    assert await store.read(lambda tx: tx.tasks.get(task.id)) is None
    assert await store.read(lambda tx: (tx.documents.get("doc_1"), tx.issues.of_task(task.id))) == (None, None)
    assert await store.read(lambda tx: tx.documents.reports_of_task(task.id, limit=9)) == []
    assert await store.read(lambda tx: tx.tasks.list_dependants(blocker.id, limit=9)) == []
    kept = await store.read(lambda tx: tx.tasks.get(found.id))
    assert kept is not None and kept.found_in is None


async def test_pages_of_tasks_are_ordered_by_number(store: Store) -> None:
    inserted = await insert(store, {}, {"status": TaskStatus.FAILED}, {}, {}, {"status": TaskStatus.BLOCKED})
    await store.write(lambda tx: tx.tasks.update(msgspec.structs.replace(inserted[2], archived=True)))

    async def page(**values: Any) -> list[int]:
        return await numbers(store, lambda tx: tx.tasks.list_page(VC, **({"after": 0, "limit": 9} | values)))

    assert await page() == [1, 2, 4, 5] and await page(archived=True) == [1, 2, 3, 4, 5]
    assert await page(after=1, limit=2) == [2, 4]
    assert await page(status=TaskStatus.FAILED) == [2]
    assert await page(status=TaskStatus.TODO) == [1, 4]
    assert await numbers(store, lambda tx: tx.tasks.list_open(VC, limit=9)) == [1, 3, 4, 5]
    assert await numbers(store, lambda tx: tx.tasks.list_roots(VC, limit=2)) == [1, 2]
    counts, ready = await store.read(lambda tx: tx.tasks.count_by_status(VC))
    assert (counts, ready) == ({"todo": 2, "failed": 1, "blocked": 1}, 2)


async def test_lists_of_tasks_cut_long_descriptions(store: Store) -> None:
    (task,) = await insert(store, {"description": "x" * (limits.description_chars_in_lists + 1)})
    (listed,) = await store.read(lambda tx: tx.tasks.list_page(VC, after=0, limit=9))
    assert listed == msgspec.structs.replace(task, description="x" * limits.description_chars_in_lists + "…")
    assert await store.read(lambda tx: tx.tasks.get(task.id)) == task


async def test_ready_tasks_are_listed_by_priority_and_number(store: Store) -> None:
    (parent,) = await insert(store, {"priority": Priority.LOW})
    waiting: dict[str, Any] = {"ready": False}
    changes: list[dict[str, Any]] = [
        {"priority": Priority.NORMAL, "parent_id": parent.id},
        {"priority": Priority.CRITICAL},
        {"priority": Priority.NORMAL},
        {"open_blockers": 1, **waiting},
        {"stage_held": True, **waiting},
    ]
    created = [make_task(number=number, **fields) for number, fields in enumerate(changes, 2)]
    await store.write(lambda tx: [tx.tasks.insert(task) for task in created])

    async def ready(parent_id: str | None = None, after: tuple[int, int] = (-1, 0), limit: int = 9) -> list[int]:
        values: dict[str, Any] = {"parent_id": parent_id, "after": after, "limit": limit}
        return await numbers(store, lambda tx: tx.tasks.list_ready(VC, **values))

    assert await ready() == [3, 2, 4, 1] and await ready(limit=1) == [3]
    assert await ready(after=(Priority.NORMAL.rank, 2)) == [4, 1]
    assert await ready(parent.id) == [2]
    assert await numbers(store, lambda tx: tx.tasks.list_waiting(VC, after=0, limit=9)) == [5, 6]
    assert await numbers(store, lambda tx: tx.tasks.list_waiting(VC, after=5, limit=9)) == [6]


async def test_a_parent_is_done_when_all_children_are_done(store: Store) -> None:
    (parent,) = await insert(store, {})
    child = make_task(number=2, parent_id=parent.id, status=TaskStatus.COMPLETED)
    open_child = make_task(number=3, parent_id=parent.id)
    grandchild = make_task(number=4, parent_id=open_child.id)
    await store.write(lambda tx: tx.tasks.insert(child))
    assert await store.read(lambda tx: tx.tasks.children_are_done(parent.id))
    assert not await store.read(lambda tx: tx.tasks.children_are_done(child.id)), (
        "a task without children is not done by its children"
    )
    await store.write(lambda tx: [tx.tasks.insert(task) for task in (open_child, grandchild)])
    assert not await store.read(lambda tx: tx.tasks.children_are_done(parent.id))
    assert await numbers(store, lambda tx: tx.tasks.list_children(parent.id, limit=9, after=2)) == [3]
    assert await numbers(store, lambda tx: tx.tasks.list_unfinished_children(parent.id, limit=9)) == [3]
    assert await store.read(lambda tx: tx.tasks.subtree_height(parent.id)) == 2
    assert await numbers(store, lambda tx: tx.tasks.list_work_in_tree(parent.id, limit=9)) == [2, 4]


async def test_tasks_found_during_other_work_are_listed(store: Store) -> None:
    (root,) = await insert(store, {})
    child = make_task(number=2, parent_id=root.id)
    outside = make_task(number=3, found_in=child.id)
    inside = make_task(number=4, found_in=root.id, parent_id=root.id)
    await store.write(lambda tx: [tx.tasks.insert(task) for task in (child, outside, inside)])
    assert await numbers(store, lambda tx: tx.tasks.list_found_in(root.id, limit=9)) == [4]
    assert await numbers(store, lambda tx: tx.tasks.list_found_below(root.id, limit=9)) == [3]


async def test_dependencies_are_listed_from_both_tasks(store: Store) -> None:
    done, blocker, task = await insert(store, {"status": TaskStatus.COMPLETED}, {}, {})

    def add(tx: Tx) -> None:
        for other in (done, blocker):
            tx.tasks.graph.add_edge(task.id, other.id)

    await store.write(add)
    assert await numbers(store, lambda tx: tx.tasks.list_dependencies(task.id, limit=9)) == [1, 2]
    assert await numbers(store, lambda tx: tx.tasks.list_dependencies(task.id, limit=1)) == [1]
    assert await numbers(store, lambda tx: tx.tasks.list_blockers(task.id, limit=9)) == [2]
    assert await numbers(store, lambda tx: tx.tasks.list_dependants(blocker.id, limit=9)) == [3]
    assert await store.write(lambda tx: tx.tasks.shift_blockers(blocker.id, 1)) == [task.id]
    waiting = await store.read(lambda tx: tx.tasks.get(task.id))
    assert waiting is not None and waiting.open_blockers == 1


async def test_expired_claims_are_listed_in_order_and_leases_are_renewed(
    store: Store, enter: Enter, clock: FakeClock
) -> None:
    first, second, personal = await insert(store, {}, {}, {})
    holders = [await enter("a"), await enter("b")]
    now = clock.now()

    def claim(tx: Tx) -> None:
        for task, holder, seconds in ((first, holders[0], 60), (second, holders[1], 30)):
            move = tasks.start(task, holder=holder.id, holder_name=holder.name, lease_seconds=seconds, at=now)
            tx.tasks.move(move.before, move.after)
        move = tasks.start(personal, holder="dana", lease_seconds=None, at=now)
        tx.tasks.move(move.before, move.after)

    await store.write(claim)
    late = now + timedelta(seconds=60)
    assert await store.read(lambda tx: tx.tasks.next_lease_end()) == now + timedelta(seconds=30)
    assert await numbers(store, lambda tx: tx.tasks.list_expired_claims(late, limit=9)) == [2, 1]
    assert await numbers(store, lambda tx: tx.tasks.list_expired_claims(late, limit=1)) == [2]
    assert await numbers(store, lambda tx: tx.tasks.of_holder(holders[0].id, limit=9)) == [1]
    values: dict[str, Any] = {"after": 0, "limit": 9}
    assert await numbers(store, lambda tx: tx.tasks.of_holder_in(VC, holders[0].id, **values)) == [1]
    values["status"] = TaskStatus.BLOCKED
    assert await numbers(store, lambda tx: tx.tasks.of_holder_in(VC, holders[0].id, **values)) == []
    assert await store.read(lambda tx: (tx.tasks.has_lease(holders[0].id), tx.tasks.has_lease("dana"))) == (
        True,
        False,
    )
    soon = now + timedelta(seconds=20)
    assert await store.write(lambda tx: tx.tasks.renew_claims(holders[1].id, at=soon)) == 1
    assert await store.write(lambda tx: tx.tasks.renew_claims("dana", at=soon)) == 0
    assert await store.read(lambda tx: tx.tasks.next_lease_end()) == soon + timedelta(seconds=30)
    await store.write(lambda tx: tx.tasks.renew_claims_of_many([holder.id for holder in holders], at=soon))
    await store.write(lambda tx: tx.tasks.extend_leases(lease_until=soon + timedelta(seconds=40)))
    ends = [await store.read(lambda tx, task=task: tx.tasks.get(task.id)) for task in (first, second, personal)]
    assert [task.lease_until for task in ends if task] == [
        soon + timedelta(seconds=60),
        soon + timedelta(seconds=40),
        None,
    ]


async def test_the_tasks_of_a_stage_are_held_back_and_released(store: Store) -> None:
    inserted = await insert(store, {"stage": "plan"}, {"stage": "verify"}, {"stage": "verify"})
    assert await store.read(lambda tx: tx.tasks.has_open_in_stage(VC, None, "plan"))
    assert not await store.read(lambda tx: tx.tasks.has_open_in_stage(VC, None, "package"))
    assert await store.read(lambda tx: (tx.tasks.uses_stage(VC, "plan"), tx.tasks.uses_stage(OTHER, "plan"))) == (
        True,
        False,
    )
    assert await store.read(lambda tx: tx.tasks.stage_scopes(VC)) == [None]

    async def hold(held: bool) -> set[str]:
        return set(await store.write(lambda tx: tx.tasks.hold_stage(VC, None, "verify", held=held)))

    later = {task.id for task in inserted[1:]}
    assert [await hold(True), await hold(True), await hold(False)] == [later, set(), later]


async def test_tasks_in_review_are_listed_in_the_order_of_change(store: Store, clock: FakeClock) -> None:
    now = clock.now()
    review: dict[str, Any] = {"status": TaskStatus.IN_REVIEW, "ready": False}
    await insert(
        store,
        {**review, "gates": ["b"], "updated_at": now + timedelta(seconds=1)},
        {**review, "gates": ["a"], "updated_at": now},
        {**review},
    )
    assert await numbers(store, lambda tx: tx.tasks.list_in_review(limit=9)) == [2, 1]
    assert await numbers(store, lambda tx: tx.tasks.list_in_review(limit=1)) == [2]


async def test_a_move_from_a_stale_status_is_refused(store: Store) -> None:
    task = make_task(project_id=VC)
    await store.write(lambda tx: tx.tasks.insert(task))

    def move_from_a_stale_status(tx: Tx) -> None:
        tx.tasks.move(
            make_task(id=task.id, status=TaskStatus.IN_REVIEW), make_task(id=task.id, status=TaskStatus.COMPLETED)
        )

    with pytest.raises(errors.ClaimLost):
        await store.write(move_from_a_stale_status)
    stored = await store.read(lambda tx: tx.tasks.get(task.id))
    assert stored is not None and stored.status is TaskStatus.TODO


async def test_a_task_is_found_by_id_and_by_number(store: Store) -> None:
    task = make_task(project_id=VC, title="Ünïcödé ✓", accept=["a,b"], gates=["make 'test'"], number=1)
    await store.write(lambda tx: tx.tasks.insert(task))
    assert await store.read(lambda tx: tx.tasks.get(task.id)) == task
    assert await store.read(lambda tx: tx.tasks.by_number(VC, 1)) == task
