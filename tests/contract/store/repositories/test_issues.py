"""The repository of issues: tasks that another project opened, with their threads."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from maestro.core import limits
from maestro.domain.issues import Issue
from maestro.domain.tasks import Task, TaskStatus
from maestro.store.base import Store, Tx
from maestro.store.repositories.deliveries import MessageFilter
from maestro.testing.factories import make_task

VC, OTHER = "prj_00000000000000000000000000", "prj_00000000000000000000000001"


async def insert_issues(store: Store, *statuses: TaskStatus) -> list[Task]:
    """Insert issues that the project `other` opened in the project `vc`."""
    tasks = [
        make_task(number=number, status=status, from_project_id=OTHER, ready=status is TaskStatus.TODO)
        for number, status in enumerate(statuses, 1)
    ]
    tasks.sort(key=lambda task: task.number)

    def insert(tx: Tx) -> None:
        for task in tasks:
            tx.tasks.insert(task)
            tx.issues.insert(Issue(task.id, f"msg_{task.number}", "ses_1"))

    await store.write(insert)
    return tasks


async def test_an_issue_is_found_by_task_and_by_thread(store: Store) -> None:
    (task,) = await insert_issues(store, TaskStatus.TODO)
    issue = Issue(task.id, "msg_1", "ses_1")
    assert await store.read(lambda tx: tx.issues.of_task(task.id)) == issue
    assert await store.read(lambda tx: tx.issues.of_thread("msg_1")) == issue
    assert await store.read(lambda tx: tx.issues.of_task("tsk_unknown")) is None
    assert await store.read(lambda tx: tx.issues.of_thread("msg_unknown")) is None


async def test_received_issues_are_listed_by_number(store: Store) -> None:
    tasks = await insert_issues(store, TaskStatus.TODO, TaskStatus.COMPLETED, TaskStatus.BLOCKED)
    await store.write(lambda tx: tx.tasks.insert(make_task(number=4)))

    async def received(*, after: int = 0, limit: int = 9, closed: bool | None = None) -> list[Task]:
        return await store.read(lambda tx: tx.issues.list_received(VC, after=after, limit=limit, closed=closed))

    assert await received() == tasks
    assert await received(after=1, limit=1) == tasks[1:2]
    assert await received(closed=True) == tasks[1:2]
    assert await received(closed=False) == [tasks[0], tasks[2]]
    assert await store.read(lambda tx: tx.issues.list_received(OTHER, after=0, limit=9, closed=None)) == []


async def test_opened_issues_are_listed_by_id(store: Store) -> None:
    tasks = await insert_issues(store, TaskStatus.TODO, TaskStatus.FAILED)
    tasks.sort(key=lambda task: task.id)

    async def opened(*, after: str = "", limit: int = 9, closed: bool | None = None) -> list[str]:
        found = await store.read(lambda tx: tx.issues.list_opened(OTHER, after=after, limit=limit, closed=closed))
        return [task.id for task in found]

    assert await opened() == [task.id for task in tasks]
    assert await opened(after=tasks[0].id) == [tasks[1].id] and await opened(limit=1) == [tasks[0].id]
    assert await opened(closed=True) == [task.id for task in tasks if task.status is TaskStatus.FAILED]
    assert await store.read(lambda tx: tx.issues.has_opened(OTHER, VC))
    assert not await store.read(lambda tx: tx.issues.has_opened(VC, OTHER))


async def test_lists_of_issues_cut_long_descriptions(store: Store) -> None:
    task = make_task(from_project_id=OTHER, description="x" * (limits.description_chars_in_lists + 1))
    await store.write(lambda tx: tx.tasks.insert(task))
    (listed,) = await store.read(lambda tx: tx.issues.list_received(VC, after=0, limit=9, closed=None))
    assert listed.description == "x" * limits.description_chars_in_lists + "…"


async def test_a_closed_thread_is_no_longer_offered_from_a_mailbox(
    store: Store, send: Callable[..., Awaitable[int]]
) -> None:
    await send(VC, OTHER, thread_id="msg_thread")
    await store.write(lambda tx: tx.issues.close_thread("msg_thread", mailbox=VC))

    async def offered(mailbox: str) -> int:
        values = {"reader": "ses_2", "wanted": MessageFilter(), "limit": 9}
        return len(await store.read(lambda tx: tx.deliveries.list_offered(mailbox, **values)))

    assert (await offered(VC), await offered(OTHER)) == (0, 1)
