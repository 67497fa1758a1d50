"""The repository of documents and reports of tasks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime

from maestro.core import ids
from maestro.domain.documents import Document, ReportKind, StoredContent, TaskReport
from maestro.domain.sessions import Session
from maestro.domain.tasks import Task
from maestro.store.base import Store, Tx
from maestro.testing.clock import FakeClock
from maestro.testing.factories import make_task

Enter = Callable[..., Awaitable[Session]]


async def insert_task(store: Store) -> Task:
    task = make_task()
    await store.write(lambda tx: tx.tasks.insert(task))
    return task


def make_document(task: Task, at: datetime, *, by: str = "dana", size: int = 3) -> Document:
    return Document(ids.new_id("doc", at), task.id, "Ünïcödé ✓", "plan.md", size, "abc", by, at)


async def test_a_document_keeps_every_field(store: Store, clock: FakeClock) -> None:
    task = await insert_task(store)
    inline, filed = make_document(task, clock.now()), make_document(task, clock.now())
    contents = [StoredContent(b"\x00\xff!", None, 3, "abc"), StoredContent(None, "f" * 64, 3, "abc")]

    def insert(tx: Tx) -> None:
        for document, content in zip((inline, filed), contents, strict=True):
            tx.documents.insert(document, content)

    await store.write(insert)
    assert await store.read(lambda tx: tx.documents.get(inline.id)) == inline
    assert await store.read(lambda tx: tx.documents.get_content(inline)) == contents[0]
    assert await store.read(lambda tx: tx.documents.get_content(filed)) == contents[1]
    assert await store.read(lambda tx: tx.documents.uses_blob("f" * 64))
    assert not await store.read(lambda tx: tx.documents.uses_blob("e" * 64))
    assert await store.read(lambda tx: tx.documents.get("doc_unknown")) is None


async def test_documents_of_a_task_are_listed_in_order(store: Store, clock: FakeClock) -> None:
    task, documents = await insert_task(store), []
    for _ in range(3):
        clock.advance(0.01)
        documents.append(make_document(task, clock.now()))
    content = StoredContent(b"abc", None, 3, "abc")
    await store.write(lambda tx: [tx.documents.insert(document, content) for document in reversed(documents)])
    assert await store.read(lambda tx: tx.documents.of_task(task.id, limit=9)) == documents
    assert await store.read(lambda tx: tx.documents.of_task(task.id, limit=2)) == documents[:2]
    assert await store.read(lambda tx: tx.documents.count_of_task(task.id)) == 3
    assert await store.read(lambda tx: tx.documents.count_of_task("tsk_unknown")) == 0


async def test_the_stored_bytes_of_sessions_are_summed_by_project(
    store: Store, enter: Enter, clock: FakeClock
) -> None:
    task, session = await insert_task(store), await enter("w")
    content = StoredContent(b"abc", None, 3, "abc")
    for by, size in (("dana", 100), (session.id, 20), (session.id, 3)):
        document = make_document(task, clock.now(), by=by, size=size)
        await store.write(lambda tx, document=document: tx.documents.insert(document, content))
    assert await store.read(lambda tx: tx.documents.stored_bytes_since(clock.now())) == {task.project_id: 23}
    clock.advance(1)
    assert await store.read(lambda tx: tx.documents.stored_bytes_since(clock.now())) == {}


async def test_reports_of_a_task_are_listed_newest_first(store: Store, clock: FakeClock) -> None:
    task, reports = await insert_task(store), []
    for kind in ReportKind:
        clock.advance(0.01)
        reports.append(TaskReport(ids.new_id("rep", clock.now()), task.id, kind, f"{kind} ✓", "dana", clock.now()))
    await store.write(lambda tx: [tx.documents.insert_report(report) for report in reports])
    assert await store.read(lambda tx: tx.documents.reports_of_task(task.id, limit=9)) == reports[::-1]
    assert await store.read(lambda tx: tx.documents.reports_of_task(task.id, limit=1)) == reports[-1:]
